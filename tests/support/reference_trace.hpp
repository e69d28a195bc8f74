#pragma once
/// A trace whose numbers the plain reference computed, in any precision.

#include <memory>
#include <utility>

#include "engine/reference/forward.hpp"
#include "engine/trace/trace.hpp"

namespace attn::testing_support {

template <class Scalar>
Trace<Scalar> reference_trace(const Parameters<double>& parameters, const TokenBatch& tokens, const TokenBatch& source,
                              const ForwardSettings& settings) {
    auto own = std::make_shared<Parameters<Scalar>>(parameters.config());
    std::copy_n(parameters.data(), parameters.count(), own->data());
    Trace<Scalar> trace;
    trace.config = parameters.config();
    trace.plan = std::make_shared<const Plan>(trace.config, settings.mistake);
    trace.settings = settings;
    trace.tokens = tokens;
    trace.source_tokens = source;
    trace.parameters = std::move(own);
    for (const reference::ReferenceStage& stage : reference::forward(parameters, tokens, source, settings)) {
        RecordedStage<Scalar> recorded{stage.id, Tensor<Scalar>(stage.value.shape()), nullptr, nullptr};
        std::copy(stage.value.values().begin(), stage.value.values().end(), recorded.value.data());
        if (const reference::Permissions* all = stage.permissions.get())
            recorded.mask = std::make_shared<const Mask>(
                Mask::from_sdpa_bool({all->batches, all->heads, all->queries, all->keys}, all->keep,
                                     {stage.value.shape()[0].size, stage.value.shape()[1].size, all->queries, all->keys}));
        trace.stages.push_back(std::move(recorded));
    }
    return trace;
}

}  // namespace attn::testing_support
