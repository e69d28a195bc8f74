#pragma once
/// Affine maps of rows.

#include <cstdint>

namespace attn {

/// y = x W + b
///   x [rows,in]  weight [in,out]  bias [out] or null  ->  y [rows,out]
template <class Scalar>
void linear(const Scalar* x, std::int64_t rows, std::int64_t in, std::int64_t out, const Scalar* weight, const Scalar* bias, Scalar* y);

/// y = x E^T, the head that is tied to the embedding table.
///   x [rows,in]  table [out,in]  ->  y [rows,out]
template <class Scalar>
void linear_tied(const Scalar* x, std::int64_t rows, std::int64_t in, std::int64_t out, const Scalar* table, Scalar* y);

}  // namespace attn
