#pragma once
/// Scaled dot-product attention for training, and where nobody looks at its maps: all stages of a block of rows while they are in the
/// cache, heads read and written where they lie in packed rows, and nothing kept but the weights. The same mathematics as
/// scaled_dot_product.hpp, which has a function per stage.

#include <cstdint>
#include <span>

#include "engine/attention/causal_zeros.hpp"
#include "engine/attention/heads_view.hpp"
#include "engine/attention/mask.hpp"
#include "engine/attention/scaled_dot_product.hpp"
#include "engine/ops/dropout.hpp"

namespace attn {

/// What one attention is besides its numbers.
struct AttentionRule {
    const Mask& mask;
    double factor = 1;       ///< 1 / sqrt(d_head)
    double temperature = 1;  ///< weights = softmax(factor q k^T / temperature)
    const DropoutPattern& dropout;
    double cap = 0;                    ///< scaled scores x become cap tanh(x / cap); 0: they stay
    std::span<const double> slopes{};  ///< of each head: what a score loses for each position between query and key; empty: nothing
    std::int64_t first_position = 0;   ///< of the first query, for the slopes
};

/// weights = softmax of the masked scores, dropped = dropout(weights), context = dropped v.
///   q [B,H,T,D]  k [B,G,S,D]  v [B,G,S,Dv]  ->  weights [B,H,T,S]  dropped [B,H,T,S], untouched at rate 0  context [B,H,T,Dv]
/// Weights of forbidden keys are exactly 0 and their values take no part, even if they are NaN or infinite. `zeros` is what is known of
/// the map `weights` from calls before.
template <class Scalar>
void fused_attention(const HeadsView<const Scalar>& q, const HeadsView<const Scalar>& k, const HeadsView<const Scalar>& v,
                     const AttentionRule& rule, const AttentionSizes& sizes, Tensor<Scalar>& weights, Tensor<Scalar>& dropped,
                     CausalZeros& zeros, const HeadsView<Scalar>& context);

/// The context alone, with the bits of the stages in scaled_dot_product.hpp, where nobody looks at the maps. Without dropout.
template <class Scalar>
void attention_without_maps(const HeadsView<const Scalar>& q, const HeadsView<const Scalar>& k, const HeadsView<const Scalar>& v,
                            const AttentionRule& rule, const AttentionSizes& sizes, const HeadsView<Scalar>& context);

template <class Scalar>
struct AttentionGradients {
    HeadsView<Scalar> dq, dk, dv;
};

/// Gradients of fused_attention(): overwrites dq, dk and dv; those of keys and values are sums over the heads that share them. A query and
/// a key that may not attend to each other do not meet in any sum, so that a NaN stays among those that see it.
template <class Scalar>
void fused_attention_backward(const HeadsView<const Scalar>& dcontext, const HeadsView<const Scalar>& q, const HeadsView<const Scalar>& k,
                              const HeadsView<const Scalar>& v, const Tensor<Scalar>& weights, const Tensor<Scalar>& dropped,
                              const AttentionRule& rule, const AttentionSizes& sizes, const AttentionGradients<Scalar>& gradients);

}  // namespace attn
