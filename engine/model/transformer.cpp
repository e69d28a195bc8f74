#include "engine/model/transformer.hpp"

#include <algorithm>

#include "engine/model/model_pass.hpp"

namespace attn {

template <class Scalar>
Trace<Scalar> unrecorded_trace(std::shared_ptr<const Parameters<Scalar>> parameters, const TokenBatch& tokens, const TokenBatch& source,
                               const ForwardSettings& settings) {
    Trace<Scalar> trace;
    trace.config = parameters->config();
    trace.plan = std::make_shared<const Plan>(trace.config, settings.mistake);
    trace.settings = settings;
    trace.tokens = tokens;
    if (trace.config.architecture == Architecture::EncoderDecoder) trace.source_tokens = source;
    trace.parameters = std::move(parameters);
    return trace;
}

template <class Scalar>
Trace<Scalar> trace_forward(std::shared_ptr<const Parameters<Scalar>> parameters, const TokenBatch& tokens, const TokenBatch& source,
                            const ForwardSettings& settings, std::stop_token stop, const StageObserver<Scalar>& each) {
    ModelPass<Scalar> pass(*parameters);
    Tap<Scalar> tap(true, std::move(stop));
    tap.observe(each);
    pass.forward(tokens, source, settings, tap);
    Trace<Scalar> trace = unrecorded_trace(std::move(parameters), tokens, source, settings);
    trace.stages = tap.take();
    return trace;
}

template <class Scalar>
GradientTrace<Scalar> trace_gradients(const Parameters<Scalar>& parameters, const TokenBatch& tokens, const TokenBatch& source,
                                      std::span<const std::int32_t> targets, const ForwardSettings& settings, std::stop_token stop) {
    ModelPass<Scalar> pass(parameters);
    Tap<Scalar> values(true, stop), gradients(true, stop);
    pass.forward(tokens, source, settings, values);
    const CrossEntropy loss = pass.loss(targets);
    pass.backward(gradients);

    GradientTrace<Scalar> trace;
    trace.loss = loss.loss;
    trace.counted = loss.counted;
    trace.stages = gradients.take();
    // The backward pass taps stages in reverse order.
    std::reverse(trace.stages.begin(), trace.stages.end());
    trace.parameters = std::make_shared<const Parameters<Scalar>>(pass.gradients());
    return trace;
}

#define ATTN_INSTANTIATE(Scalar)                                                                                                           \
    template Trace<Scalar> trace_forward<Scalar>(std::shared_ptr<const Parameters<Scalar>>, const TokenBatch&, const TokenBatch&,          \
                                                 const ForwardSettings&, std::stop_token, const StageObserver<Scalar>&);                   \
    template Trace<Scalar> unrecorded_trace<Scalar>(std::shared_ptr<const Parameters<Scalar>>, const TokenBatch&, const TokenBatch&,       \
                                                    const ForwardSettings&);                                                               \
    template GradientTrace<Scalar> trace_gradients<Scalar>(const Parameters<Scalar>&, const TokenBatch&, const TokenBatch&,                \
                                                           std::span<const std::int32_t>, const ForwardSettings&, std::stop_token);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn
