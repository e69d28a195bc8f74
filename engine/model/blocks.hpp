#pragma once
/// The two kinds of sub-layer, attention and feed-forward, each with its norm and residual: forward, and backward under it.

#include <memory>

#include "engine/model/activations.hpp"
#include "engine/model/weights.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/trace/tap.hpp"

namespace attn {

/// What every block of one pass shares. While the tap is active every stage is computed as a tensor of its own; otherwise stages are
/// fused where that is faster. A backward pass taps gradients under the stages' names and needs the same kind of forward pass.
template <class Scalar>
struct PassContext {
    const Config& config;
    const ForwardSettings& settings;
    Tap<Scalar>& tap;
    std::int64_t first_sequence = 0;  ///< of the batch, where a pass sees only a part of it
    bool fresh = false;               ///< gradients of linear weights replace what is there; the others are added all the same

    /// What to drop of a tensor [B,...] with so many numbers a sequence: the same as if the whole batch were here.
    DropoutPattern dropout(double rate, const StageId& where, std::int64_t per_sequence) const {
        return {rate, settings.dropout.seed, where, first_sequence * per_sequence};
    }
};

/// A block's parameters and the gradients to add to.
template <template <class> class Weights, class Scalar>
struct WeightsAndGradients {
    const Weights<const Scalar>& weights;
    const Weights<Scalar>& gradients;
};

/// The tensor among a block's activations (or gradients) that is its output.
template <class Scalar>
Tensor<Scalar>& output_of(const Config& config, AttentionActivations<Scalar>& activations);
template <class Scalar>
Tensor<Scalar>& output_of(const Config& config, FeedForwardActivations<Scalar>& activations);

/// Attention: x [B,T,C] -> output_of(activations) [B,T,C]. `memory` [B,S,C] answers a cross-attention and is null for
/// self-attention. `where` gives layer and stack.
template <class Scalar>
void attention_block(const PassContext<Scalar>& context, const AttentionWeights<const Scalar>& weights, const Tensor<Scalar>& x,
                     const Tensor<Scalar>* memory, const std::shared_ptr<const Mask>& mask, const StageId& where,
                     AttentionActivations<Scalar>& activations);

/// Gradients of attention_block(): from output_of(gradients) those of every stage, of the parameters (+=, unless fresh), of x (dx =)
/// and, for cross-attention, of the memory (dmemory +=).
template <class Scalar>
void attention_block_backward(const PassContext<Scalar>& context, const WeightsAndGradients<AttentionWeights, Scalar>& weights,
                              const Tensor<Scalar>& x, const Tensor<Scalar>* memory, const std::shared_ptr<const Mask>& mask,
                              const StageId& where, const AttentionActivations<Scalar>& activations,
                              AttentionActivations<Scalar>& gradients, Tensor<Scalar>& dx, Tensor<Scalar>* dmemory);

/// Feed-forward: x [B,T,C] -> output_of(activations) [B,T,C]
template <class Scalar>
void feed_forward_block(const PassContext<Scalar>& context, const FeedForwardWeights<const Scalar>& weights, const Tensor<Scalar>& x,
                        const StageId& where, FeedForwardActivations<Scalar>& activations);

/// Gradients of feed_forward_block(), as attention_block_backward().
template <class Scalar>
void feed_forward_block_backward(const PassContext<Scalar>& context, const WeightsAndGradients<FeedForwardWeights, Scalar>& weights,
                                 const Tensor<Scalar>& x, const StageId& where, const FeedForwardActivations<Scalar>& activations,
                                 FeedForwardActivations<Scalar>& gradients, Tensor<Scalar>& dx);

}  // namespace attn
