#pragma once
/// Softmax over rows.

#include <cstdint>

namespace attn {

/// p = softmax(x), row by row; the row's maximum is subtracted first.
///   x [rows,n]  ->  p [rows,n]
template <class Scalar>
void softmax(const Scalar* x, std::int64_t rows, std::int64_t n, Scalar* p);

}  // namespace attn
