#include "engine/train/not_finite.hpp"

#include <fmt/format.h>

#include "engine/kernels/kernels.hpp"
#include "engine/model/transformer.hpp"

namespace attn {
namespace {

bool all_finite(const float* values, std::int64_t count) { return kernels<float>().all_finite(values, count); }

std::string first_parameter(const Parameters<float>& parameters) {
    for (const ParameterInfo& info : parameters.layout().entries())
        if (!all_finite(parameters.data() + info.offset, info.shape.count())) return info.name;
    return "";
}

/// Masked scores are -inf by design; the same numbers are checked before the mask.
bool is_bad(const RecordedStage<float>& stage) {
    return stage.id.stage != Stage::Masked && !all_finite(stage.value.data(), stage.value.size());
}

TokenBatch sequence_of(const TokenBatch& batch, std::int64_t b) {
    if (batch.lengths.empty()) return {};
    const auto ids = batch.ids.begin() + b * batch.length;
    return {batch.length, {ids, ids + batch.length}, {batch.lengths[static_cast<std::size_t>(b)]}};
}

Batch sequence_of(const Batch& batch, std::int64_t b) {
    const auto targets = batch.targets.begin() + b * batch.tokens.length;
    return {sequence_of(batch.tokens, b), {targets, targets + batch.tokens.length}, sequence_of(batch.source, b)};
}

}  // namespace

NotFinite::NotFinite(std::int64_t step, std::string tensor)
    : Error(fmt::format("step {} is not finite, first in {}: the parameters are still those of step {}", step, tensor, step - 1)),
      step_(step), tensor_(std::move(tensor)) {}

std::string first_not_finite(const Parameters<float>& parameters, const Batch& batch, const ForwardSettings& settings,
                             std::stop_token stop) {
    if (const std::string name = first_parameter(parameters); !name.empty()) return name;
    const auto shared = std::make_shared<const Parameters<float>>(parameters);
    for (std::int64_t b = 0; b < batch.tokens.size(); ++b) {
        const Trace<float> trace = trace_forward<float>(shared, sequence_of(batch.tokens, b), sequence_of(batch.source, b), settings, stop);
        for (const RecordedStage<float>& stage : trace.stages)
            if (is_bad(stage)) return tensor_name(stage.id);
    }
    for (std::int64_t b = 0; b < batch.tokens.size(); ++b) {
        const Batch sequence = sequence_of(batch, b);
        const GradientTrace<float> trace =
            trace_gradients<float>(parameters, sequence.tokens, sequence.source, sequence.targets, settings, stop);
        for (auto stage = trace.stages.rbegin(); stage != trace.stages.rend(); ++stage)
            if (is_bad(*stage)) return "the gradient of " + tensor_name(stage->id);
        if (const std::string name = first_parameter(*trace.parameters); !name.empty()) return "the gradient of " + name;
    }
    return "";
}

}  // namespace attn
