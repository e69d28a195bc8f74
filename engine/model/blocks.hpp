#pragma once
/// The two kinds of sub-layer: attention and feed-forward, each with its norm and residual.

#include <memory>

#include "engine/model/activations.hpp"
#include "engine/model/weights.hpp"
#include "engine/trace/tap.hpp"

namespace attn {

/// What every block of one forward pass shares.
template <class Scalar>
struct ForwardContext {
    const Config& config;
    const ForwardSettings& settings;
    Tap<Scalar>& tap;
};

/// Self-attention: x [B,T,C] -> the block's output [B,T,C] (a tensor of `activations`, or `x` itself if the block changes nothing).
/// `where` gives layer and stack.
template <class Scalar>
Tensor<Scalar>& self_attention_block(const ForwardContext<Scalar>& context, const AttentionWeights<const Scalar>& weights,
                                     Tensor<Scalar>& x, const std::shared_ptr<const Mask>& mask, StageId where,
                                     AttentionActivations<Scalar>& activations);

/// Cross-attention: x [B,T,C] asks, memory [B,S,C] answers.
template <class Scalar>
Tensor<Scalar>& cross_attention_block(const ForwardContext<Scalar>& context, const AttentionWeights<const Scalar>& weights,
                                      Tensor<Scalar>& x, const Tensor<Scalar>& memory, const std::shared_ptr<const Mask>& mask,
                                      StageId where, AttentionActivations<Scalar>& activations);

/// x [B,T,C] -> [B,T,C]
template <class Scalar>
Tensor<Scalar>& feed_forward_block(const ForwardContext<Scalar>& context, const FeedForwardWeights<const Scalar>& weights,
                                   Tensor<Scalar>& x, StageId where, FeedForwardActivations<Scalar>& activations);

/// Normalises x into `activations` and taps it as `where`.
template <class Scalar>
Tensor<Scalar>& norm_layer(const ForwardContext<Scalar>& context, const NormWeights<const Scalar>& weights, const Tensor<Scalar>& x,
                           const StageId& where, NormActivations<Scalar>& activations);

/// What both kinds of block end with: the residual x + dropout(out), then the norm of a post-norm model. Residual dropout belongs to
/// the addition: a model without residuals has none.
///   x, out [B,T,C] -> [B,T,C]
template <class Scalar>
struct BlockEnd {
    const NormWeights<const Scalar>& weights;
    NormActivations<Scalar>& norm;
    Tensor<Scalar>& residual;
    StageId dropped_stage, residual_stage, norm_stage;
};
template <class Scalar>
Tensor<Scalar>& end_block(const ForwardContext<Scalar>& context, const Tensor<Scalar>& x, Tensor<Scalar>& out, const BlockEnd<Scalar>& end);

}  // namespace attn
