#include "engine/ops/gemm.hpp"

#include "engine/ops/parallel.hpp"
#include "engine/ops/scratch.hpp"

namespace attn {

template <class Scalar>
void gemm(const GemmArguments<Scalar>& arguments) {
    const Kernels<Scalar>& kernel = kernels<Scalar>();
    kernel.gemm(arguments, scratch<Scalar, ScratchUse::Gemm>(kernel.gemm_scratch));
}

template <class Scalar>
void parallel_gemm(const GemmArguments<Scalar>& arguments) {
    const GemmArguments<Scalar>& g = arguments;
    constexpr std::int64_t kRowGrain = 12;           // a multiple of the kernels' tiles, as kPackedGrain is
    constexpr std::int64_t kFlopsPerOperation = 32;  // against which parallel_ranges weighs a team of threads
    if (g.m >= g.n) {
        parallel_ranges(g.m, kRowGrain, 1 + g.n * g.k / kFlopsPerOperation, [&](std::int64_t first, std::int64_t last) {
            GemmArguments<Scalar> part = g;
            part.m = last - first;
            part.a += g.transpose_a == Transpose::Yes ? first : first * g.lda;
            part.c += first * g.ldc;
            if (g.plus != nullptr) part.plus += first * g.ldc;
            if (g.times != nullptr) part.times += first * g.ldc;
            gemm(part);
        });
    } else {
        parallel_ranges(g.n, kPackedGrain, 1 + g.m * g.k / kFlopsPerOperation, [&](std::int64_t first, std::int64_t last) {
            GemmArguments<Scalar> part = g;
            part.n = last - first;
            if (g.b != nullptr) part.b += g.transpose_b == Transpose::Yes ? first * g.ldb : first;
            part.c += first;
            if (g.bias != nullptr) part.bias += first;
            if (g.plus != nullptr) part.plus += first;
            if (g.times != nullptr) part.times += first;
            if (g.packed_b != nullptr) {
                part.packed_b += first * g.packed_k;
                part.packed_n -= first;
            }
            gemm(part);
        });
    }
}

template void gemm<float>(const GemmArguments<float>&);
template void gemm<double>(const GemmArguments<double>&);
template void parallel_gemm<float>(const GemmArguments<float>&);
template void parallel_gemm<double>(const GemmArguments<double>&);

}  // namespace attn
