#include "engine/model/block_end.hpp"
#include "engine/ops/activation.hpp"
#include "engine/ops/elementwise.hpp"
#include "engine/ops/linear.hpp"

namespace attn {
namespace {

StageId at(const StageId& where, Stage stage) { return {stage, where.layer, where.stack}; }

BlockEndStages end_stages(const StageId& where) { return {at(where, Stage::FfnOut), at(where, Stage::Residual2), at(where, Stage::Norm2)}; }

}  // namespace

template <class Scalar>
Tensor<Scalar>& output_of(const Config& config, FeedForwardActivations<Scalar>& activations) {
    if (config.norm == NormPlacement::Post) return activations.norm.out;
    return config.residual ? activations.residual : activations.out;
}

template <class Scalar>
void feed_forward_block(const PassContext<Scalar>& context, const FeedForwardWeights<const Scalar>& weights, const Tensor<Scalar>& x,
                        const StageId& where, FeedForwardActivations<Scalar>& activations) {
    const Config& config = context.config;
    FeedForwardActivations<Scalar>& a = activations;
    const bool pre = config.norm == NormPlacement::Pre;
    if (pre) norm_layer(context, weights.norm, x, at(where, Stage::Norm2), a.norm);
    const Tensor<Scalar>& in = pre ? a.norm.out : x;
    const Shape& shape = in.shape();
    const std::int64_t rows = shape[0].size * shape[1].size;

    a.hidden.resize({shape[0], shape[1], {Axis::F, config.d_ff}});
    linear(in.data(), rows, config.d_model, config.d_ff, weights.in.weight, weights.in.bias, a.hidden.data());
    context.tap(at(where, Stage::FfnHidden), a.hidden);

    a.activation.resize(a.hidden.shape());
    // With nobody to show it to, `hidden` matters to the backward pass alone.
    if (context.tap.active()) activate(config.activation, a.hidden.data(), a.hidden.size(), a.activation.data());
    else activate_once(config.activation, a.hidden.data(), a.hidden.size(), a.activation.data());
    context.tap(at(where, Stage::FfnActivation), a.activation);

    const bool direct = adds_directly(context);
    Tensor<Scalar>& out = direct ? a.residual : a.out;
    out.resize({shape[0], shape[1], {Axis::C, config.d_model}});
    linear(a.activation.data(), rows, config.d_ff, config.d_model, weights.out.weight, weights.out.bias, out.data(),
           direct ? x.data() : nullptr);
    context.tap(at(where, Stage::FfnOut), out);
    end_block<Scalar>(context, weights.norm, x, end_stages(where), {a.out, a.residual, a.norm});
}

template <class Scalar>
void feed_forward_block_backward(const PassContext<Scalar>& context, const WeightsAndGradients<FeedForwardWeights, Scalar>& weights,
                                 const Tensor<Scalar>& x, const StageId& where, const FeedForwardActivations<Scalar>& activations,
                                 FeedForwardActivations<Scalar>& gradients, Tensor<Scalar>& dx) {
    const Config& config = context.config;
    const FeedForwardActivations<Scalar>& a = activations;
    FeedForwardActivations<Scalar>& g = gradients;
    const FeedForwardWeights<const Scalar>& w = weights.weights;
    const FeedForwardWeights<Scalar>& dw = weights.gradients;
    const bool pre = config.norm == NormPlacement::Pre;
    const std::int64_t rows = x.shape()[0].size * x.shape()[1].size;
    const auto [dsum, dout] =
        end_block_backward<Scalar>(context, {w.norm, dw.norm}, end_stages(where), {a.out, a.residual, a.norm}, {g.out, g.residual, g.norm});
    context.tap(at(where, Stage::FfnOut), *dout);

    g.activation.resize(a.hidden.shape());
    linear_backward(dout->data(), a.activation.data(), rows, config.d_ff, config.d_model, w.out.weight, g.activation.data(), dw.out.weight,
                    dw.out.bias);
    context.tap(at(where, Stage::FfnActivation), g.activation);

    const bool shown = context.tap.active();
    Tensor<Scalar>& dhidden = shown ? g.hidden : g.activation;
    dhidden.resize(a.hidden.shape());
    const auto backward = shown ? &activate_backward<Scalar> : &activate_once_backward<Scalar>;
    backward(config.activation, a.hidden.data(), g.activation.data(), a.hidden.size(), dhidden.data());
    context.tap(at(where, Stage::FfnHidden), dhidden);

    const Tensor<Scalar>& in = pre ? a.norm.out : x;
    Tensor<Scalar>& din = pre ? g.norm.out : dx;
    din.resize(x.shape());
    linear_backward(dhidden.data(), in.data(), rows, config.d_model, config.d_ff, w.in.weight, din.data(), dw.in.weight, dw.in.bias);
    if (pre) {
        context.tap(at(where, Stage::Norm2), g.norm.out);
        norm_layer_backward<Scalar>({w.norm, dw.norm}, x, a.norm, g.norm, config.residual ? dsum : nullptr, dx);
    } else if (config.residual) {
        add(dx.data(), dsum->data(), dx.size(), dx.data());
    }
}

#define ATTN_INSTANTIATE(Scalar)                                                                                                           \
    template Tensor<Scalar>& output_of<Scalar>(const Config&, FeedForwardActivations<Scalar>&);                                            \
    template void feed_forward_block<Scalar>(const PassContext<Scalar>&, const FeedForwardWeights<const Scalar>&, const Tensor<Scalar>&,   \
                                             const StageId&, FeedForwardActivations<Scalar>&);                                             \
    template void feed_forward_block_backward<Scalar>(const PassContext<Scalar>&, const WeightsAndGradients<FeedForwardWeights, Scalar>&,  \
                                                      const Tensor<Scalar>&, const StageId&, const FeedForwardActivations<Scalar>&,        \
                                                      FeedForwardActivations<Scalar>&, Tensor<Scalar>&);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)

}  // namespace attn
