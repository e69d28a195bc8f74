#pragma once
/// Sums and multiples of whole tensors.

#include <cstdint>

namespace attn {

/// y = a + b
///   a [n]  b [n]  ->  y [n]
template <class Scalar>
void add(const Scalar* a, const Scalar* b, std::int64_t n, Scalar* y);

/// y = a b, number by number
///   a [n]  b [n]  ->  y [n]
template <class Scalar>
void multiply(const Scalar* a, const Scalar* b, std::int64_t n, Scalar* y);

}  // namespace attn
