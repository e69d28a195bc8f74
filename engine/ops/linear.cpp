#include "engine/ops/linear.hpp"

#include "engine/ops/column_sums.hpp"
#include "engine/ops/gemm.hpp"

namespace attn {

template <class Scalar>
void linear(const Scalar* x, std::int64_t rows, std::int64_t in, std::int64_t out, const Scalar* weight, const Scalar* bias, Scalar* y,
            const Scalar* plus, const Scalar* packed) {
    parallel_gemm<Scalar>({.m = rows,
                           .n = out,
                           .k = in,
                           .a = x,
                           .lda = in,
                           .b = weight,
                           .ldb = out,
                           .c = y,
                           .ldc = out,
                           .bias = bias,
                           .plus = plus,
                           .packed_b = packed,
                           .packed_k = in,
                           .packed_n = out,
                           .packed_is_far = true});
}

template <class Scalar>
void linear_backward(const Scalar* dy, const Scalar* x, std::int64_t rows, std::int64_t in, std::int64_t out, const Scalar* weight,
                     Scalar* dx, Scalar* dweight, Scalar* dbias, const LinearBackwardOptions<Scalar>& options) {
    const GemmArguments<Scalar> weight_gradient{.m = in,
                                                .n = out,
                                                .k = rows,
                                                .a = x,
                                                .lda = in,
                                                .b = dy,
                                                .ldb = out,
                                                .c = dweight,
                                                .ldc = out,
                                                .transpose_a = Transpose::Yes,
                                                .accumulate = !options.replaces};
    if (dx == nullptr) parallel_gemm(weight_gradient);
    else
        parallel_gemms<Scalar>(weight_gradient, {.m = rows,
                                                 .n = in,
                                                 .k = out,
                                                 .a = dy,
                                                 .lda = out,
                                                 .b = weight,
                                                 .ldb = out,
                                                 .c = dx,
                                                 .ldc = in,
                                                 .transpose_b = Transpose::Yes,
                                                 .times = options.times,
                                                 .packed_b = options.packed_across,
                                                 .packed_k = out,
                                                 .packed_n = in,
                                                 .packed_is_far = true});
    if (dbias != nullptr) add_column_sums(dy, rows, out, dbias);
}

template <class Scalar>
void linear_tied(const Scalar* x, std::int64_t rows, std::int64_t in, std::int64_t out, const Scalar* table, Scalar* y) {
    parallel_gemm<Scalar>(
        {.m = rows, .n = out, .k = in, .a = x, .lda = in, .b = table, .ldb = in, .c = y, .ldc = out, .transpose_b = Transpose::Yes});
}

template <class Scalar>
void linear_tied_backward(const Scalar* dy, const Scalar* x, std::int64_t rows, std::int64_t in, std::int64_t out, const Scalar* table,
                          Scalar* dx, Scalar* dtable) {
    parallel_gemms<Scalar>({.m = out,
                            .n = in,
                            .k = rows,
                            .a = dy,
                            .lda = out,
                            .b = x,
                            .ldb = in,
                            .c = dtable,
                            .ldc = in,
                            .transpose_a = Transpose::Yes,
                            .accumulate = true},
                           {.m = rows, .n = in, .k = out, .a = dy, .lda = out, .b = table, .ldb = in, .c = dx, .ldc = in});
}

#define ATTN_INSTANTIATE(Scalar)                                                                                                           \
    template void linear<Scalar>(const Scalar*, std::int64_t, std::int64_t, std::int64_t, const Scalar*, const Scalar*, Scalar*,           \
                                 const Scalar*, const Scalar*);                                                                            \
    template void linear_tied<Scalar>(const Scalar*, std::int64_t, std::int64_t, std::int64_t, const Scalar*, Scalar*);                    \
    template void linear_backward<Scalar>(const Scalar*, const Scalar*, std::int64_t, std::int64_t, std::int64_t, const Scalar*, Scalar*,  \
                                          Scalar*, Scalar*, const LinearBackwardOptions<Scalar>&);                                         \
    template void linear_tied_backward<Scalar>(const Scalar*, const Scalar*, std::int64_t, std::int64_t, std::int64_t, const Scalar*,      \
                                               Scalar*, Scalar*);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn
