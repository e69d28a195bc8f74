#pragma once
/// The matrix product over threads.

#include "engine/kernels/kernels.hpp"

namespace attn {

/// The product in `arguments`, on the calling thread only.
template <class Scalar>
void gemm(const GemmArguments<Scalar>& arguments);

/// The same, spread over threads by rows or columns of C; the bits do not depend on their number.
template <class Scalar>
void parallel_gemm(const GemmArguments<Scalar>& arguments);

}  // namespace attn
