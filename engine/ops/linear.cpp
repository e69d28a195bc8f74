#include "engine/ops/linear.hpp"

#include <utility>

#include "engine/ops/column_sums.hpp"
#include "engine/ops/gemm.hpp"

namespace attn {
namespace {

/// dW = x^T dy, or its transpose, dy^T x.
template <class Scalar>
GemmArguments<Scalar> weight_product(const Scalar* dy, const Scalar* x, std::int64_t rows, std::int64_t in, std::int64_t out,
                                     const WeightGradient<Scalar>& dweight) {
    GemmArguments<Scalar> g{.m = in, .n = out, .k = rows, .a = x, .lda = in, .b = dy, .ldb = out, .c = dweight.data, .ldc = dweight.stride};
    if (dweight.transposed) {
        std::swap(g.m, g.n);
        std::swap(g.a, g.b);
        std::swap(g.lda, g.ldb);
    }
    g.transpose_a = Transpose::Yes;
    g.accumulate = !dweight.replaces;
    return g;
}

}  // namespace

template <class Scalar>
void linear(const Scalar* x, std::int64_t rows, const MatrixView& weight, const Scalar* bias, Scalar* y, const Scalar* plus,
            const Scalar* packed) {
    parallel_gemm<Scalar>({.m = rows,
                           .n = weight.columns,
                           .k = weight.rows,
                           .a = x,
                           .lda = weight.rows,
                           .c = y,
                           .ldc = weight.columns,
                           .bias = bias,
                           .plus = plus,
                           .packed_b = packed,
                           .packed_k = weight.rows,
                           .packed_n = weight.columns,
                           .packed_is_far = true},
                          weight);
}

template <class Scalar>
void linear_backward(const Scalar* dy, const Scalar* x, std::int64_t rows, const MatrixView& weight, Scalar* dx,
                     const WeightGradient<Scalar>& dweight, Scalar* dbias, const LinearBackwardOptions<Scalar>& options) {
    const std::int64_t in = weight.rows, out = weight.columns;
    const GemmArguments<Scalar> weight_gradient = weight_product(dy, x, rows, in, out, dweight);
    const GemmArguments<Scalar> input_gradient{.m = rows,
                                               .n = in,
                                               .k = out,
                                               .a = dy,
                                               .lda = out,
                                               .c = dx,
                                               .ldc = in,
                                               .times = options.times,
                                               .packed_b = options.packed_across,
                                               .packed_k = out,
                                               .packed_n = in,
                                               .packed_is_far = true};
    parallel_gemms<Scalar>(weight_gradient, input_gradient, weight.across());
    if (dbias != nullptr) add_column_sums(dy, rows, out, dbias);
}

#define ATTN_INSTANTIATE(Scalar)                                                                                                           \
    template void linear<Scalar>(const Scalar*, std::int64_t, const MatrixView&, const Scalar*, Scalar*, const Scalar*, const Scalar*);    \
    template void linear_backward<Scalar>(const Scalar*, const Scalar*, std::int64_t, const MatrixView&, Scalar*,                          \
                                          const WeightGradient<Scalar>&, Scalar*, const LinearBackwardOptions<Scalar>&);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn
