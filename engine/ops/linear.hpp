#pragma once
/// Affine maps of rows.

#include <cstdint>

namespace attn {

/// y = x W + b + plus
///   x [rows,in]  weight [in,out]  bias [out] or null  plus [rows,out] or null  ->  y [rows,out]
///   packed: W as Kernels::pack_b() leaves it, or null
template <class Scalar>
void linear(const Scalar* x, std::int64_t rows, std::int64_t in, std::int64_t out, const Scalar* weight, const Scalar* bias, Scalar* y,
            const Scalar* plus = nullptr, const Scalar* packed = nullptr);

/// What may help linear_backward() or be done by the way.
template <class Scalar>
struct LinearBackwardOptions {
    const Scalar* packed_across = nullptr;  ///< W^T as Kernels::pack_b() leaves it
    const Scalar* times = nullptr;          ///< [rows,in]: dx = dy W^T times, number by number
    bool replaces = false;                  ///< dW = x^T dy
};

/// Gradients of linear(): dx = dy W^T (skipped when dx is null), dW += x^T dy, db += column sums of dy (skipped when null).
///   dy [rows,out]  x [rows,in]  weight [in,out]  ->  dx [rows,in]  dweight [in,out]  dbias [out]
template <class Scalar>
void linear_backward(const Scalar* dy, const Scalar* x, std::int64_t rows, std::int64_t in, std::int64_t out, const Scalar* weight,
                     Scalar* dx, Scalar* dweight, Scalar* dbias, const LinearBackwardOptions<Scalar>& options = {});

/// y = x E^T, the head that is tied to the embedding table.
///   x [rows,in]  table [out,in]  ->  y [rows,out]
template <class Scalar>
void linear_tied(const Scalar* x, std::int64_t rows, std::int64_t in, std::int64_t out, const Scalar* table, Scalar* y);

/// Gradients of linear_tied(): dx = dy E, dE += dy^T x.
///   dy [rows,out]  x [rows,in]  table [out,in]  ->  dx [rows,in]  dtable [out,in]
template <class Scalar>
void linear_tied_backward(const Scalar* dy, const Scalar* x, std::int64_t rows, std::int64_t in, std::int64_t out, const Scalar* table,
                          Scalar* dx, Scalar* dtable);

}  // namespace attn
