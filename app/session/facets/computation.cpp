#include "app/session/facets/computation.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "app/session/facets/examine.hpp"
#include "engine/model/continued_outline.hpp"
#include "engine/model/knock_out.hpp"
#include "engine/model/outline.hpp"
#include "engine/model/recomputation.hpp"
#include "engine/model/transformer.hpp"
#include "engine/reference/verify.hpp"

namespace attn::app {
namespace {

/// How many positions to verify at a time. The reference reads all weights of the part for every batch of positions, so large batches are
/// faster as long as their attention maps stay small.
std::int64_t verified_rows(const Trace<float>& outline) {
    constexpr std::int64_t kFew = 16, kMany = 64, kMostNumbers = std::int64_t{1} << 18;
    const std::int64_t keys = std::max(outline.tokens.length, outline.source_tokens.length);
    return std::clamp(kMostNumbers / std::max<std::int64_t>(outline.config.num_heads * keys, 1), kFew, kMany);
}

std::span<const std::int32_t> first_of(const TokenBatch& batch) {
    return {batch.ids.data(), static_cast<std::size_t>(batch.lengths.at(0))};
}

/// An encoder-decoder's answer begins with the first token of its text and ends with the token that ends the source.
std::vector<std::int32_t> write_on(const Trace<float>& trace, const SamplingSettings& sampling, std::stop_token stop) {
    Prompt prompt{first_of(trace.tokens)};
    if (trace.config.architecture == Architecture::EncoderDecoder) {
        prompt.source = first_of(trace.source_tokens);
        prompt.text = prompt.text.first(1);
        prompt.ends = prompt.source.last(1);
    }
    return generate(*trace.parameters, prompt, trace.settings, sampling, {}, std::move(stop));
}

}  // namespace

Computation Computation::engine() {
    return {
        [](const Config& config, const Parameters<float>* drawn) { return initial_parameters(config, drawn); },
        [](std::shared_ptr<const Parameters<float>> parameters, const TokenBatch& tokens, const TokenBatch& source,
           const ForwardSettings& settings,
           std::stop_token stop) { return trace_forward<float>(std::move(parameters), tokens, source, settings, std::move(stop)); },
        [](std::shared_ptr<const Parameters<float>> parameters, const TokenBatch& tokens, const TokenBatch& source,
           const ForwardSettings& settings, const OutlineLimits& limits, std::stop_token stop) {
            return trace_outline<float>(std::move(parameters), tokens, source, settings, {}, std::move(stop), limits);
        },
        [](const Trace<float>& outline, const TokenBatch& tokens, const std::optional<StageId>& before, std::stop_token stop) {
            return continue_outline(outline, tokens, std::move(stop), before);
        },
        complete_outline<float>,
        [](std::shared_ptr<const Trace<float>> trace, const std::vector<Edit>& edits, std::stop_token stop) {
            return Recomputation<float>(std::move(trace)).with_edits(edits, std::move(stop));
        },
        look_at_part,
        region_of_map,
        [](const Trace<float>& trace, std::stop_token stop) {
            return reference::verify(trace, reference::kFloatAtol, reference::kFloatRtol, std::move(stop));
        },
        [](std::shared_ptr<const Trace<float>> outline, const StageId& within, std::stop_token stop) {
            Recomputation<float> again(outline, Keep::OneLayer);
            const auto show = [&](const reference::StageRowsObserver<float>& each) {
                const auto rows = [&](const StageRows<float>& shown) { each(shown.id, shown.first, shown.value, shown.mask); };
                // The reference stores doubles, twice the size; stopping is checked between batches of rows.
                again.show_rows_around(within, rows, stop, verified_rows(*outline));
            };
            return reference::verify_part<float>(*outline, within, show, reference::kFloatAtol, reference::kFloatRtol, stop);
        },
        [](const Trace<float>& trace, const std::vector<std::int32_t>& targets, std::stop_token stop) {
            return trace_gradients<float>(*trace.parameters, trace.tokens, trace.source_tokens, targets, trace.settings, std::move(stop));
        },
        write_on,
        generate,
        read_lens,
        read_totals,
        examine_trace,
        attn::knock_out,
    };
}

}  // namespace attn::app
