#include "engine/doctor/future_leak.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "engine/model/transformer.hpp"
#include "engine/tensor/error.hpp"

namespace attn::doctor {
namespace {

/// The model's output at every position: the logits, or whatever stage comes last.
const Tensor<float>& output_of(const Trace<float>& trace) {
    for (auto stage = trace.stages.rbegin(); stage != trace.stages.rend(); ++stage)
        if (stage->id.stage != Stage::Probabilities) return stage->value;
    throw Error("the trace has no stages");
}

}  // namespace

std::vector<Leak> future_leaks(const Trace<float>& trace, std::int64_t sequence, std::int64_t position, std::stop_token stop) {
    const TokenBatch& tokens = trace.tokens;
    if (sequence < 0 || sequence >= tokens.size() || position < 0 || position >= tokens.lengths[static_cast<std::size_t>(sequence)])
        throw Error("there is no token " + std::to_string(position) + " in sequence " + std::to_string(sequence));
    if (trace.parameters == nullptr) throw Error("a trace without parameters cannot be recomputed");
    if (trace.config.vocab_size < 2) throw Error("a vocabulary of one token has no other token to replace it with");
    TokenBatch changed = tokens;
    std::int32_t& id = changed.ids[static_cast<std::size_t>(sequence * tokens.length + position)];
    id = static_cast<std::int32_t>((id + 1) % trace.config.vocab_size);
    const Trace<float> other = trace_forward<float>(trace.parameters, changed, trace.source_tokens, trace.settings, std::move(stop));
    const Tensor<float>&before = output_of(trace), &after = output_of(other);
    const std::int64_t width = before.shape()[2].size;
    std::vector<Leak> leaks;
    for (std::int64_t t = 0; t < position; ++t) {
        double change = 0;
        for (std::int64_t i = (sequence * tokens.length + t) * width, end = i + width; i < end; ++i) {
            const double gap = std::abs(static_cast<double>(before.data()[i]) - static_cast<double>(after.data()[i]));
            const bool both_nan = std::isnan(before.data()[i]) && std::isnan(after.data()[i]);
            if (!both_nan && before.data()[i] != after.data()[i])
                change = std::max(change, std::isnan(gap) ? std::numeric_limits<double>::infinity() : gap);
        }
        if (change > 0) leaks.push_back({t, change});
    }
    return leaks;
}

}  // namespace attn::doctor
