#include "engine/ops/linear.hpp"

#include "engine/ops/gemm.hpp"

namespace attn {

template <class Scalar>
void linear(const Scalar* x, std::int64_t rows, std::int64_t in, std::int64_t out, const Scalar* weight, const Scalar* bias, Scalar* y) {
    parallel_gemm<Scalar>({.m = rows, .n = out, .k = in, .a = x, .lda = in, .b = weight, .ldb = out, .c = y, .ldc = out, .bias = bias});
}

template <class Scalar>
void linear_tied(const Scalar* x, std::int64_t rows, std::int64_t in, std::int64_t out, const Scalar* table, Scalar* y) {
    parallel_gemm<Scalar>(
        {.m = rows, .n = out, .k = in, .a = x, .lda = in, .b = table, .ldb = in, .c = y, .ldc = out, .transpose_b = Transpose::Yes});
}

template void linear<float>(const float*, std::int64_t, std::int64_t, std::int64_t, const float*, const float*, float*);
template void linear<double>(const double*, std::int64_t, std::int64_t, std::int64_t, const double*, const double*, double*);
template void linear_tied<float>(const float*, std::int64_t, std::int64_t, std::int64_t, const float*, float*);
template void linear_tied<double>(const double*, std::int64_t, std::int64_t, std::int64_t, const double*, double*);

}  // namespace attn
