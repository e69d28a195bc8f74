#include "engine/model/stack.hpp"

#include "engine/model/block_end.hpp"

namespace attn {
namespace {

/// The tensor of the residual stream that layer `i` ends with; that of layer -1 is the embedding.
template <class Scalar>
Tensor<Scalar>& stream_after(const Config& config, bool cross, StackActivations<Scalar>& a, std::size_t layers) {
    if (layers == 0) return a.embedding;
    LayerActivations<Scalar>& last = a.layers[layers - 1];
    if (config.feed_forward) return output_of(config, last.feed_forward);
    return output_of(config, cross ? last.cross : last.self);
}

}  // namespace

template <class Scalar>
Tensor<Scalar>& output_of(const Config& config, bool cross, StackActivations<Scalar>& activations) {
    return config.final_norm ? activations.final_norm.out : stream_after(config, cross, activations, activations.layers.size());
}

template <class Scalar>
void run_stack(const PassContext<Scalar>& context, const StackWeights<const Scalar>& weights, const StackInputs<Scalar>& inputs,
               StackActivations<Scalar>& activations) {
    const Config& config = context.config;
    const bool cross = inputs.memory != nullptr;
    activations.layers.resize(weights.layers.size());
    for (std::size_t i = 0; i < weights.layers.size(); ++i) {
        const LayerWeights<const Scalar>& w = weights.layers[i];
        LayerActivations<Scalar>& a = activations.layers[i];
        const StageId where{Stage::Tokens, static_cast<int>(i), inputs.stack};
        attention_block<Scalar>(context, w.self, stream_after(config, cross, activations, i), nullptr, inputs.mask, where, a.self);
        Tensor<Scalar>* x = &output_of(config, a.self);
        if (cross) {
            attention_block(context, w.cross, *x, inputs.memory, inputs.cross_mask, where, a.cross);
            x = &output_of(config, a.cross);
        }
        if (config.feed_forward) feed_forward_block(context, w.feed_forward, *x, where, a.feed_forward);
    }
    if (!config.final_norm) return;
    norm_layer(context, weights.final_norm, stream_after(config, cross, activations, weights.layers.size()),
               {Stage::FinalNorm, -1, inputs.stack}, activations.final_norm);
}

template <class Scalar>
void run_stack_backward(const PassContext<Scalar>& context, const WeightsAndGradients<StackWeights, Scalar>& weights,
                        const StackInputs<Scalar>& inputs, StackActivations<Scalar>& activations, StackActivations<Scalar>& gradients,
                        Tensor<Scalar>* dmemory) {
    const Config& config = context.config;
    const bool cross = inputs.memory != nullptr;
    const std::size_t layers = weights.weights.layers.size();
    gradients.layers.resize(layers);
    // With nobody to show them to, a layer's gradients are needed until the layer below has them. Where a layer begins and ends with
    // tensors of their own, the next may reuse its memory, which then stays in the cache; else two layers' memory is needed.
    const auto kept = [&](std::size_t layer) {
        if (context.tap.active()) return layer;
        return config.feed_forward ? layers - 1 : layers - 1 - (layers - 1 - layer) % 2;
    };
    if (config.final_norm) {
        context.tap({Stage::FinalNorm, -1, inputs.stack}, gradients.final_norm.out);
        norm_layer_backward<Scalar>(context, {weights.weights.final_norm, weights.gradients.final_norm},
                                    stream_after(config, cross, activations, layers), activations.final_norm, gradients.final_norm, nullptr,
                                    stream_after(config, cross, gradients, layers));
    }
    for (std::size_t i = layers; i-- > 0;) {
        const LayerWeights<const Scalar>& w = weights.weights.layers[i];
        const LayerWeights<Scalar>& dw = weights.gradients.layers[i];
        LayerActivations<Scalar>&a = activations.layers[i], &g = gradients.layers[kept(i)];
        const StageId where{Stage::Tokens, static_cast<int>(i), inputs.stack};
        Tensor<Scalar>&after_self = output_of(config, a.self), &dafter_self = output_of(config, g.self);
        if (config.feed_forward) {
            const Tensor<Scalar>& x = cross ? output_of(config, a.cross) : after_self;
            feed_forward_block_backward<Scalar>(context, {w.feed_forward, dw.feed_forward}, x, where, a.feed_forward, g.feed_forward,
                                                cross ? output_of(config, g.cross) : dafter_self);
        }
        if (cross)
            attention_block_backward<Scalar>(context, {w.cross, dw.cross}, after_self, inputs.memory, inputs.cross_mask, where, a.cross,
                                             g.cross, dafter_self, dmemory);
        attention_block_backward<Scalar>(context, {w.self, dw.self}, stream_after(config, cross, activations, i), nullptr, inputs.mask,
                                         where, a.self, g.self, stream_after(config, cross, gradients, i == 0 ? 0 : kept(i - 1) + 1),
                                         nullptr);
    }
}

#define ATTN_INSTANTIATE(Scalar)                                                                                                           \
    template Tensor<Scalar>& output_of<Scalar>(const Config&, bool, StackActivations<Scalar>&);                                            \
    template void run_stack<Scalar>(const PassContext<Scalar>&, const StackWeights<const Scalar>&, const StackInputs<Scalar>&,             \
                                    StackActivations<Scalar>&);                                                                            \
    template void run_stack_backward<Scalar>(const PassContext<Scalar>&, const WeightsAndGradients<StackWeights, Scalar>&,                 \
                                             const StackInputs<Scalar>&, StackActivations<Scalar>&, StackActivations<Scalar>&,             \
                                             Tensor<Scalar>*);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn
