#pragma once
/// The matrix product, spread over threads.

#include "engine/kernels/kernels.hpp"
#include "engine/tensor/matrix_view.hpp"

namespace attn {

/// The product described by `arguments`, on the calling thread only.
template <class Scalar>
void gemm(const GemmArguments<Scalar>& arguments);

/// The same, split over threads by rows or columns of C; the bits do not depend on the number of threads.
template <class Scalar>
void parallel_gemm(const GemmArguments<Scalar>& arguments);

/// The same with op(B) [k,n] in any number kind, converted as the product reads it. `arguments` leaves b out; its packed_b takes
/// precedence.
template <class Scalar>
void parallel_gemm(const GemmArguments<Scalar>& arguments, const MatrixView& b);

/// Two independent products spread over threads together. `coarse` is split into a few large parts, because each part packs its operands
/// anew; `fine` follows in small parts, so that all threads finish at the same time.
template <class Scalar>
void parallel_gemms(const GemmArguments<Scalar>& coarse, const GemmArguments<Scalar>& fine);
/// The same with op(B) of `fine` as a view; `fine` leaves b out.
template <class Scalar>
void parallel_gemms(const GemmArguments<Scalar>& coarse, const GemmArguments<Scalar>& fine, const MatrixView& fine_b);

}  // namespace attn
