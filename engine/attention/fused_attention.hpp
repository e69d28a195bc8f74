#pragma once
/// Scaled dot-product attention for training, and for passes whose maps are not shown. All stages of a block of rows are computed while it
/// is in the cache, heads are read and written in place in packed rows, and only the weights are kept. The formulas are those of
/// scaled_dot_product.hpp, which has one function per stage.

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>

#include "engine/attention/causal_zeros.hpp"
#include "engine/attention/heads_view.hpp"
#include "engine/attention/mask.hpp"
#include "engine/attention/scaled_dot_product.hpp"
#include "engine/ops/dropout.hpp"

namespace attn {

/// The settings of an attention.
struct AttentionRule {
    const Mask& mask;
    double factor = 1;       ///< 1 / sqrt(d_head)
    double temperature = 1;  ///< weights = softmax(factor q k^T / temperature)
    const DropoutPattern& dropout;
    double cap = 0;                    ///< soft cap: scaled scores x become cap tanh(x / cap); 0 = off
    std::span<const double> slopes{};  ///< ALiBi, per head: subtracted from a score per position between query and key; empty = off
    std::int64_t first_position = 0;   ///< position of the first query, for the slopes
    std::stop_token stop{};            ///< looked at between rows: Cancelled is thrown once it is requested
    /// Told the share of the rows that is done, from any thread; null: nobody is.
    const std::function<void(double share)>* progress = nullptr;
};

/// weights = softmax of the masked scores, dropped = dropout(weights), context = dropped v.
///   q [B,H,T,D]  k [B,G,S,D]  v [B,G,S,Dv]  ->  weights [B,H,T,S]  dropped [B,H,T,S], untouched at rate 0  context [B,H,T,Dv]
/// Weights of forbidden keys are exactly 0 and their values are ignored, even if NaN or infinite. `zeros` belongs to `weights` and carries
/// over from call to call.
template <class Scalar>
void fused_attention(const HeadsView<const Scalar>& q, const HeadsView<const Scalar>& k, const HeadsView<const Scalar>& v,
                     const AttentionRule& rule, const AttentionSizes& sizes, Tensor<Scalar>& weights, Tensor<Scalar>& dropped,
                     CausalZeros& zeros, const HeadsView<Scalar>& context);

/// The same context alone, without dropout, for passes that no backward pass follows: no map is kept.
template <class Scalar>
void fused_context(const HeadsView<const Scalar>& q, const HeadsView<const Scalar>& k, const HeadsView<const Scalar>& v,
                   const AttentionRule& rule, const AttentionSizes& sizes, const HeadsView<Scalar>& context);

/// The context alone, for passes whose maps are not shown; bit-identical to the stages of scaled_dot_product.hpp. Ignores dropout.
///   q [B,H,T,D]  k [B,G,S,D]  v [B,G,S,Dv]  ->  context [B,H,T,Dv]
template <class Scalar>
void attention_without_maps(const HeadsView<const Scalar>& q, const HeadsView<const Scalar>& k, const HeadsView<const Scalar>& v,
                            const AttentionRule& rule, const AttentionSizes& sizes, const HeadsView<Scalar>& context);

template <class Scalar>
struct AttentionGradients {
    HeadsView<Scalar> dq, dk, dv;
};

/// Gradients of fused_attention(). Overwrites dq, dk and dv; dk and dv are sums over the query heads that share a key/value head. Pairs
/// that may not attend to each other never meet in a sum, so a NaN reaches only what may attend to it.
///   dcontext [B,H,T,Dv]  weights, dropped [B,H,T,S]  ->  dq [B,H,T,D]  dk [B,G,S,D]  dv [B,G,S,Dv]
template <class Scalar>
void fused_attention_backward(const HeadsView<const Scalar>& dcontext, const HeadsView<const Scalar>& q, const HeadsView<const Scalar>& k,
                              const HeadsView<const Scalar>& v, const Tensor<Scalar>& weights, const Tensor<Scalar>& dropped,
                              const AttentionRule& rule, const AttentionSizes& sizes, const AttentionGradients<Scalar>& gradients);

}  // namespace attn
