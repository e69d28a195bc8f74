#pragma once
/// The softmax along the wrong axis.

#include "engine/attention/scaled_dot_product.hpp"

namespace attn {

/// weights[t,s] = exp(masked[t,s] / temperature) / Σ over t of the same, over the queries that may attend to s. Masked cells, and
/// columns without any query, are exactly 0.
///   masked [B,H,T,S]  ->  weights [B,H,T,S]
template <class Scalar>
void softmax_over_queries(const Tensor<Scalar>& masked, const Mask& mask, double temperature, const AttentionSizes& sizes,
                          Tensor<Scalar>& weights);

/// dmasked[t,s] = weights[t,s] (dweights[t,s] - Σ over t of weights dweights) / temperature
template <class Scalar>
void softmax_over_queries_backward(const Tensor<Scalar>& dweights, const Tensor<Scalar>& weights, const Mask& mask, double temperature,
                                   const AttentionSizes& sizes, Tensor<Scalar>& dmasked);

}  // namespace attn
