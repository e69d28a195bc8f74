#pragma once
/// Element-wise sums and products of whole tensors.

#include <cstdint>

namespace attn {

/// y = a + b
///   a [n]  b [n]  ->  y [n]
template <class Scalar>
void add(const Scalar* a, const Scalar* b, std::int64_t n, Scalar* y);

/// y = a b, element-wise
///   a [n]  b [n]  ->  y [n]
template <class Scalar>
void multiply(const Scalar* a, const Scalar* b, std::int64_t n, Scalar* y);

}  // namespace attn
