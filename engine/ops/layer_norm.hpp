#pragma once
/// Layer normalisation (Ba, Kiros and Hinton, 2016).

#include <cstdint>

namespace attn {

/// y = (x - mean) / sqrt(variance + eps) * gain + bias of every row; the variance is that of the n numbers (divided by n).
///   x [rows,n]  gain [n]  bias [n]  ->  y [rows,n]  mean [rows]  rstd [rows] = 1 / sqrt(variance + eps)
template <class Scalar>
void layer_norm(const Scalar* x, std::int64_t rows, std::int64_t n, const Scalar* gain, const Scalar* bias, double eps, Scalar* y,
                Scalar* mean, Scalar* rstd);

/// Where layer_norm_backward() leaves its results, and what it adds to the first.
template <class Scalar>
struct LayerNormGradients {
    Scalar *dx, *dgain, *dbias;
    const Scalar* plus = nullptr;  ///< [rows,n] or null
};

/// Gradients of layer_norm(): dx = that of x + plus, dgain += and dbias += theirs.
///   dy [rows,n]  x [rows,n]  mean, rstd [rows] of the forward pass  ->  dx [rows,n]  dgain [n]  dbias [n]; dx may be dy or plus
/// With z = (x - mean) rstd and g = gain dy: dx = rstd (g - mean(g) - z mean(g z)).
template <class Scalar>
void layer_norm_backward(const Scalar* dy, const Scalar* x, std::int64_t rows, std::int64_t n, const Scalar* gain, const Scalar* mean,
                         const Scalar* rstd, const LayerNormGradients<Scalar>& gradients);

}  // namespace attn
