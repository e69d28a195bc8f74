#pragma once
/// Layer norm (Ba, Kiros and Hinton, 2016) and RMS norm (Zhang and Sennrich, 2019).

#include <cstdint>

namespace attn {

/// y = (x - mean) / sqrt(variance + eps) * gain + bias, row by row; the variance is the biased one (divided by n).
///   x [rows,n]  gain [n]  bias [n]  ->  y [rows,n]  mean [rows]  rstd [rows] = 1 / sqrt(variance + eps)
template <class Scalar>
void layer_norm(const Scalar* x, std::int64_t rows, std::int64_t n, const Scalar* gain, const Scalar* bias, double eps, Scalar* y,
                Scalar* mean, Scalar* rstd);

/// Outputs of the backward functions, and an operand to add to dx.
template <class Scalar>
struct NormGradients {
    Scalar *dx, *dgain, *dbias;    ///< dbias is not used by RMS norm
    const Scalar* plus = nullptr;  ///< [rows,n] or null
};

/// Gradients of layer_norm(): dx = gradient of x + plus; the gradients of gain and bias are added to dgain and dbias.
///   dy [rows,n]  x [rows,n]  mean, rstd [rows] from the forward pass  ->  dx [rows,n]  dgain [n]  dbias [n]; dx may be dy or plus
/// With z = (x - mean) rstd and g = gain dy: dx = rstd (g - mean(g) - z mean(g z)).
template <class Scalar>
void layer_norm_backward(const Scalar* dy, const Scalar* x, std::int64_t rows, std::int64_t n, const Scalar* gain, const Scalar* mean,
                         const Scalar* rstd, const NormGradients<Scalar>& gradients);

/// y = x / sqrt(mean(x^2) + eps) * gain, row by row.
///   x [rows,n]  gain [n]  ->  y [rows,n]  rstd [rows] = 1 / sqrt(mean(x^2) + eps)
template <class Scalar>
void rms_norm(const Scalar* x, std::int64_t rows, std::int64_t n, const Scalar* gain, double eps, Scalar* y, Scalar* rstd);

/// Gradients of rms_norm(), laid out as in layer_norm_backward(). With z = x rstd and g = gain dy: dx = rstd (g - z mean(g z)).
template <class Scalar>
void rms_norm_backward(const Scalar* dy, const Scalar* x, std::int64_t rows, std::int64_t n, const Scalar* gain, const Scalar* rstd,
                       const NormGradients<Scalar>& gradients);

}  // namespace attn
