#pragma once
/// The mistake of taking the softmax along the wrong axis.

#include "engine/attention/scaled_dot_product.hpp"

namespace attn {

/// weights[t,s] = exp(masked[t,s] / temperature), divided by the sum of the same over the queries t that may attend to s. Masked cells, and
/// columns that no query may attend to, are exactly 0.
///   masked [B,H,T,S]  ->  weights [B,H,T,S]
template <class Scalar>
void softmax_over_queries(const Tensor<Scalar>& masked, const Mask& mask, double temperature, const AttentionSizes& sizes,
                          Tensor<Scalar>& weights);

/// dmasked[t,s] = weights[t,s] (dweights[t,s] - sum over t of weights dweights) / temperature. All are [B,H,T,S].
template <class Scalar>
void softmax_over_queries_backward(const Tensor<Scalar>& dweights, const Tensor<Scalar>& weights, const Mask& mask, double temperature,
                                   const AttentionSizes& sizes, Tensor<Scalar>& dmasked);

}  // namespace attn
