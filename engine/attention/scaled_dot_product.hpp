#pragma once
/// Scaled dot-product attention (Vaswani et al., 2017, section 3.2.1), one function per stage.

#include <cstdint>

#include "engine/attention/mask.hpp"
#include "engine/tensor/tensor.hpp"

namespace attn {

/// Sizes of an attention: B sequences, H heads, T queries, S keys, D numbers per head of q and k, Dv of v. There are G key/value heads,
/// each shared by H / G query heads (GQA: Ainslie et al., 2023).
struct AttentionSizes {
    std::int64_t batches = 0, heads = 0, queries = 0, keys = 0, head_size = 0, value_size = 0;
    std::int64_t key_heads = heads;  ///< G, a divisor of H

    /// How many query heads share a key/value head.
    std::int64_t group() const { return key_heads > 0 ? heads / key_heads : 1; }
    /// Index, among all B * G, of the key/value head that query head `bh` of all B * H reads.
    std::int64_t key_head(std::int64_t bh) const { return bh / group(); }
    Shape map_shape() const;      ///< [B,H,T,S]
    Shape context_shape() const;  ///< [B,H,T,Dv]
};

/// The sizes of q [B,H,T,D], k [B,G,S,D], v [B,G,S,Dv]. Throws ShapeError naming the two shapes that disagree.
template <class Scalar>
AttentionSizes attention_sizes(const Tensor<Scalar>& q, const Tensor<Scalar>& k, const Tensor<Scalar>& v);

/// Throws ShapeError naming both shapes unless the mask fits [B,H,T,S].
void require_mask_fits(const Mask& mask, const AttentionSizes& sizes);

/// scores = q k^T
///   q [B,H,T,D]  k [B,G,S,D]  ->  scores [B,H,T,S]
template <class Scalar>
void attention_scores(const Tensor<Scalar>& q, const Tensor<Scalar>& k, const AttentionSizes& sizes, Tensor<Scalar>& scores);

/// scaled = factor scores
template <class Scalar>
void scale_scores(const Tensor<Scalar>& scores, double factor, Tensor<Scalar>& scaled);

/// masked = scaled + bias, -inf where the mask forbids
template <class Scalar>
void mask_scores(const Tensor<Scalar>& scaled, const Mask& mask, const AttentionSizes& sizes, Tensor<Scalar>& masked);

/// weights = softmax(masked / temperature) over the keys the mask allows, exactly 0 elsewhere; a fully masked row is all 0.
///   masked [B,H,T,S]  ->  weights [B,H,T,S]
template <class Scalar>
void attention_weights(const Tensor<Scalar>& masked, const Mask& mask, double temperature, const AttentionSizes& sizes,
                       Tensor<Scalar>& weights);

/// The same for masked = factor q k^T + bias, without the rounding errors that large logits have in `masked` (see large_logits.hpp).
///   q [B,H,T,D]  k [B,G,S,D]  masked [B,H,T,S]  ->  weights [B,H,T,S]
template <class Scalar>
void precise_attention_weights(const Tensor<Scalar>& q, const Tensor<Scalar>& k, double factor, const Tensor<Scalar>& masked,
                               const Mask& mask, double temperature, const AttentionSizes& sizes, Tensor<Scalar>& weights);

/// context = dropped v over the keys the mask allows: the value of a forbidden key is ignored, even if NaN or infinite.
///   dropped [B,H,T,S]  v [B,G,S,Dv]  ->  context [B,H,T,Dv]
template <class Scalar>
void attention_context(const Tensor<Scalar>& dropped, const Tensor<Scalar>& v, const Mask& mask, const AttentionSizes& sizes,
                       Tensor<Scalar>& context);

/// Gradients of attention_context(): of the weights (after dropout) and of v.
///   dcontext [B,H,T,Dv]  dropped [B,H,T,S]  v [B,G,S,Dv]  ->  ddropped [B,H,T,S] = dcontext v^T, 0 where the mask forbids  dv [B,G,S,Dv]
/// A forbidden weight is always 0, so the loss does not depend on it and its gradient is 0 here. PyTorch's autograd leaves dcontext v^T
/// there instead; the softmax before it multiplies that by 0, so q, k and v get the same gradients.
template <class Scalar>
void attention_context_backward(const Tensor<Scalar>& dcontext, const Tensor<Scalar>& dropped, const Tensor<Scalar>& v, const Mask& mask,
                                const AttentionSizes& sizes, Tensor<Scalar>& ddropped, Tensor<Scalar>& dv);

/// Gradient of attention_weights(): w (dw - sum(w dw)) / temperature, exactly 0 where the mask forbids. All are [B,H,T,S].
template <class Scalar>
void attention_weights_backward(const Tensor<Scalar>& dweights, const Tensor<Scalar>& weights, const Mask& mask, double temperature,
                                const AttentionSizes& sizes, Tensor<Scalar>& dmasked);

/// Gradients of attention_scores(): dq = dscores k, dk = dscores^T q; forbidden pairs are ignored, even if NaN or infinite.
///   dscores [B,H,T,S]  q [B,H,T,D]  k [B,G,S,D]  ->  dq [B,H,T,D]  dk [B,G,S,D]
template <class Scalar>
void attention_scores_backward(const Tensor<Scalar>& dscores, const Tensor<Scalar>& q, const Tensor<Scalar>& k, const Mask& mask,
                               const AttentionSizes& sizes, Tensor<Scalar>& dq, Tensor<Scalar>& dk);

}  // namespace attn
