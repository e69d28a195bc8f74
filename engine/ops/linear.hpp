#pragma once
/// Affine maps of rows.

#include <cstdint>

#include "engine/tensor/matrix_view.hpp"

namespace attn {

/// y = x W + b + plus
///   x [rows,in]  weight [in,out]  bias [out] or null  plus [rows,out] or null  ->  y [rows,out]
///   packed: W as Kernels::pack_b() leaves it, or null
template <class Scalar>
void linear(const Scalar* x, std::int64_t rows, const MatrixView& weight, const Scalar* bias, Scalar* y, const Scalar* plus = nullptr,
            const Scalar* packed = nullptr);

/// Where the gradient of W is added.
template <class Scalar>
struct WeightGradient {
    Scalar* data = nullptr;
    std::int64_t stride = 0;  ///< numbers from one row to the next
    bool transposed = false;  ///< it is that of the transpose [out,in]
    bool replaces = false;    ///< dW = x^T dy
};

/// What may help linear_backward() or be done by the way.
template <class Scalar>
struct LinearBackwardOptions {
    const Scalar* packed_across = nullptr;  ///< W^T as Kernels::pack_b() leaves it
    const Scalar* times = nullptr;          ///< [rows,in]: dx = dy W^T times, number by number
};

/// Gradients of linear(): dx = dy W^T, dW += x^T dy, db += column sums of dy (skipped when null).
///   dy [rows,out]  x [rows,in]  weight [in,out]  ->  dx [rows,in]  dweight [in,out]  dbias [out]
template <class Scalar>
void linear_backward(const Scalar* dy, const Scalar* x, std::int64_t rows, const MatrixView& weight, Scalar* dx,
                     const WeightGradient<Scalar>& dweight, Scalar* dbias, const LinearBackwardOptions<Scalar>& options = {});

}  // namespace attn
