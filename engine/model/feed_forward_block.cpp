#include "engine/model/blocks.hpp"
#include "engine/ops/activation.hpp"
#include "engine/ops/linear.hpp"

namespace attn {

template <class Scalar>
Tensor<Scalar>& feed_forward_block(const ForwardContext<Scalar>& context, const FeedForwardWeights<const Scalar>& weights,
                                   Tensor<Scalar>& x, StageId where, FeedForwardActivations<Scalar>& activations) {
    const Config& config = context.config;
    const auto stage = [&where](Stage s) { return StageId{s, where.layer, where.stack}; };
    FeedForwardActivations<Scalar>& a = activations;
    const bool pre = config.norm == NormPlacement::Pre;
    const Tensor<Scalar>& in = pre ? norm_layer(context, weights.norm, x, stage(Stage::Norm2), a.norm) : x;
    const Shape& shape = in.shape();
    const std::int64_t rows = shape[0].size * shape[1].size;

    a.hidden.resize({shape[0], shape[1], {Axis::F, config.d_ff}});
    linear(in.data(), rows, config.d_model, config.d_ff, weights.in.weight, weights.in.bias, a.hidden.data());
    context.tap(stage(Stage::FfnHidden), a.hidden);

    a.activation.resize(a.hidden.shape());
    activate(config.activation, a.hidden.data(), a.hidden.size(), a.activation.data());
    context.tap(stage(Stage::FfnActivation), a.activation);

    a.out.resize({shape[0], shape[1], {Axis::C, config.d_model}});
    linear(a.activation.data(), rows, config.d_ff, config.d_model, weights.out.weight, weights.out.bias, a.out.data());
    context.tap(stage(Stage::FfnOut), a.out);
    return end_block(context, x, a.out,
                     {weights.norm, a.norm, a.residual, stage(Stage::FfnOut), stage(Stage::Residual2), stage(Stage::Norm2)});
}

template Tensor<float>& feed_forward_block<float>(const ForwardContext<float>&, const FeedForwardWeights<const float>&, Tensor<float>&,
                                                  StageId, FeedForwardActivations<float>&);
template Tensor<double>& feed_forward_block<double>(const ForwardContext<double>&, const FeedForwardWeights<const double>&, Tensor<double>&,
                                                    StageId, FeedForwardActivations<double>&);

}  // namespace attn
