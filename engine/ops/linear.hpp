#pragma once
/// Linear layers applied to rows.

#include <cstdint>

#include "engine/tensor/matrix_view.hpp"

namespace attn {

/// y = x W + b + plus
///   x [rows,in]  weight [in,out]  bias [out] or null  plus [rows,out] or null  ->  y [rows,out]
///   packed: W as packed by Kernels::pack_b(), or null
template <class Scalar>
void linear(const Scalar* x, std::int64_t rows, const MatrixView& weight, const Scalar* bias, Scalar* y, const Scalar* plus = nullptr,
            const Scalar* packed = nullptr);

/// Where and how the gradient of W is written.
template <class Scalar>
struct WeightGradient {
    Scalar* data = nullptr;
    std::int64_t stride = 0;  ///< distance between rows
    bool transposed = false;  ///< data is [out,in], the gradient of W^T
    bool replaces = false;    ///< dW = x^T dy instead of dW +=
};

/// Optional inputs of linear_backward().
template <class Scalar>
struct LinearBackwardOptions {
    const Scalar* packed_across = nullptr;  ///< W^T as packed by Kernels::pack_b()
    const Scalar* times = nullptr;          ///< [rows,in]: dx = (dy W^T) * times, element-wise
};

/// Gradients of linear(): dx = dy W^T, dW += x^T dy, db += column sums of dy (skipped when null).
///   dy [rows,out]  x [rows,in]  weight [in,out]  ->  dx [rows,in]  dweight [in,out]  dbias [out]
template <class Scalar>
void linear_backward(const Scalar* dy, const Scalar* x, std::int64_t rows, const MatrixView& weight, Scalar* dx,
                     const WeightGradient<Scalar>& dweight, Scalar* dbias, const LinearBackwardOptions<Scalar>& options = {});

}  // namespace attn
