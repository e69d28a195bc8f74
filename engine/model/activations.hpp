#pragma once
/// What a forward pass computes and its backward pass needs; the backward pass fills a second one with the gradients of the same
/// numbers. Memory is kept from pass to pass.

#include <cstdint>
#include <vector>

#include "engine/attention/causal_zeros.hpp"
#include "engine/tensor/tensor.hpp"

namespace attn {

template <class Scalar>
struct NormActivations {
    Tensor<Scalar> out;         ///< [B,T,C]
    Tensor<Scalar> mean, rstd;  ///< [B,T]
};

template <class Scalar>
struct AttentionActivations {
    NormActivations<Scalar> norm;
    Tensor<Scalar> packed;         ///< [B,T,N=3HD] q, k and v side by side; of cross-attention [B,T,N=HD] q alone
    Tensor<Scalar> packed_memory;  ///< cross-attention: [B,S,N=2HD] k and v of the memory
    Tensor<Scalar> q, k, v;        ///< [B,H,T,D], [B,H,S,D]
    Tensor<Scalar> scores, scaled, masked, weights, dropped;  ///< [B,H,T,S]
    CausalZeros weights_zeros;                                ///< what is known of `weights`
    Tensor<Scalar> context;                                   ///< [B,H,T,D]
    Tensor<Scalar> concat;                                    ///< [B,T,HD]
    Tensor<Scalar> out, residual;                             ///< [B,T,C]
    Tensor<Scalar> memory;                                    ///< among gradients: [B,S,C], this block's part of the memory's
};

template <class Scalar>
struct FeedForwardActivations {
    NormActivations<Scalar> norm;
    Tensor<Scalar> hidden, activation;  ///< [B,T,F]; without a tap, hidden is what activate_once() leaves of it
    Tensor<Scalar> out, residual;       ///< [B,T,C]
};

template <class Scalar>
struct LayerActivations {
    AttentionActivations<Scalar> self, cross;
    FeedForwardActivations<Scalar> feed_forward;
};

template <class Scalar>
struct StackActivations {
    Tensor<Scalar> tokens;                                          ///< [B,T]
    Tensor<Scalar> token_embedding, position_embedding, embedding;  ///< [B,T,C]
    std::vector<LayerActivations<Scalar>> layers;
    NormActivations<Scalar> final_norm;
};

template <class Scalar>
struct Activations {
    StackActivations<Scalar> encoder;  ///< of an encoder-decoder
    StackActivations<Scalar> main;
    Tensor<Scalar> logits, probabilities;  ///< [B,T,V]
};

}  // namespace attn
