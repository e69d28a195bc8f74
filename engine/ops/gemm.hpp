#pragma once
/// The matrix product over threads.

#include "engine/kernels/kernels.hpp"
#include "engine/tensor/matrix_view.hpp"

namespace attn {

/// The product in `arguments`, on the calling thread only.
template <class Scalar>
void gemm(const GemmArguments<Scalar>& arguments);

/// The same, spread over threads by rows or columns of C; the bits do not depend on their number.
template <class Scalar>
void parallel_gemm(const GemmArguments<Scalar>& arguments);

/// The same with an operand op(B) [k,n] that may be stored in another precision: it is converted where the product reads it. The arguments
/// leave B out; where they have packed_b, that is used.
template <class Scalar>
void parallel_gemm(const GemmArguments<Scalar>& arguments, const MatrixView& b);

/// Two products that do not depend on each other, spread over threads together: the parts of `coarse`, which packs its operands anew for
/// each, are few and large; those of `fine` are small, come last, and let the threads end at the same time.
template <class Scalar>
void parallel_gemms(const GemmArguments<Scalar>& coarse, const GemmArguments<Scalar>& fine);
/// The same where the op(B) of `fine`, which it leaves out, is a view.
template <class Scalar>
void parallel_gemms(const GemmArguments<Scalar>& coarse, const GemmArguments<Scalar>& fine, const MatrixView& fine_b);

}  // namespace attn
