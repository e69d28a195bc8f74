#pragma once
/// Layer normalisation (Ba, Kiros and Hinton, 2016).

#include <cstdint>

namespace attn {

/// y = (x - mean) / sqrt(variance + eps) * gain + bias of every row; the variance is that of the n numbers (divided by n).
///   x [rows,n]  gain [n]  bias [n]  ->  y [rows,n]  mean [rows]  rstd [rows] = 1 / sqrt(variance + eps)
template <class Scalar>
void layer_norm(const Scalar* x, std::int64_t rows, std::int64_t n, const Scalar* gain, const Scalar* bias, double eps, Scalar* y,
                Scalar* mean, Scalar* rstd);

}  // namespace attn
