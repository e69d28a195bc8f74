#include "engine/ops/norm.hpp"

#include <algorithm>

#include "engine/kernels/kernels.hpp"
#include "engine/ops/column_sums.hpp"
#include "engine/ops/parallel.hpp"

namespace attn {

namespace {

constexpr std::int64_t kNormRows = 4;  // rows that the kernels process side by side
constexpr std::int64_t kNormCost = 8;  // of one number, in operations

}  // namespace

template <class Scalar>
void layer_norm(const Scalar* x, std::int64_t rows, std::int64_t n, const Scalar* gain, const Scalar* bias, double eps, Scalar* y,
                Scalar* mean, Scalar* rstd) {
    const Kernels<Scalar>& k = kernels<Scalar>();
    parallel_ranges(rows, kNormRows, kNormCost * n, [&](std::int64_t first, std::int64_t last) {
        k.layer_norm_rows(x + first * n, last - first, n, gain, bias, static_cast<Scalar>(eps), y + first * n, mean + first, rstd + first);
    });
}

template <class Scalar>
void layer_norm_backward(const Scalar* dy, const Scalar* x, std::int64_t rows, std::int64_t n, const Scalar* gain, const Scalar* mean,
                         const Scalar* rstd, const NormGradients<Scalar>& gradients) {
    const Kernels<Scalar>& k = kernels<Scalar>();
    // The gradients of gain and bias in one array [2n].
    Scalar* sums = scratch<Scalar, ScratchUse::NormSums>(2 * n);
    std::fill(sums, sums + 2 * n, Scalar{0});
    const NormGradients<Scalar>& out = gradients;
    sum_in_runs(rows, 2 * n, 2 * n, sums, [&](std::int64_t first, std::int64_t last, Scalar* partial) {
        const std::int64_t at = first * n;
        k.layer_norm_backward_rows({.dy = dy + at,
                                    .x = x + at,
                                    .gain = gain,
                                    .mean = mean + first,
                                    .rstd = rstd + first,
                                    .plus = out.plus == nullptr ? nullptr : out.plus + at,
                                    .dx = out.dx + at,
                                    .dgain = partial,
                                    .dbias = partial + n},
                                   last - first, n);
    });
    k.add(gradients.dgain, sums, n, gradients.dgain);
    k.add(gradients.dbias, sums + n, n, gradients.dbias);
}

template <class Scalar>
void rms_norm(const Scalar* x, std::int64_t rows, std::int64_t n, const Scalar* gain, double eps, Scalar* y, Scalar* rstd) {
    const Kernels<Scalar>& k = kernels<Scalar>();
    parallel_ranges(rows, kNormRows, kNormCost * n, [&](std::int64_t first, std::int64_t last) {
        k.rms_norm_rows(x + first * n, last - first, n, gain, static_cast<Scalar>(eps), y + first * n, rstd + first);
    });
}

template <class Scalar>
void rms_norm_backward(const Scalar* dy, const Scalar* x, std::int64_t rows, std::int64_t n, const Scalar* gain, const Scalar* rstd,
                       const NormGradients<Scalar>& gradients) {
    const Kernels<Scalar>& k = kernels<Scalar>();
    sum_in_runs(rows, n, 2 * n, gradients.dgain, [&](std::int64_t first, std::int64_t last, Scalar* partial) {
        const std::int64_t at = first * n;
        k.rms_norm_backward_rows({.dy = dy + at,
                                  .x = x + at,
                                  .gain = gain,
                                  .mean = nullptr,
                                  .rstd = rstd + first,
                                  .plus = gradients.plus == nullptr ? nullptr : gradients.plus + at,
                                  .dx = gradients.dx + at,
                                  .dgain = partial,
                                  .dbias = nullptr},
                                 last - first, n);
    });
}

template void layer_norm_backward<float>(const float*, const float*, std::int64_t, std::int64_t, const float*, const float*, const float*,
                                         const NormGradients<float>&);
template void layer_norm_backward<double>(const double*, const double*, std::int64_t, std::int64_t, const double*, const double*,
                                          const double*, const NormGradients<double>&);
template void layer_norm<float>(const float*, std::int64_t, std::int64_t, const float*, const float*, double, float*, float*, float*);
template void layer_norm<double>(const double*, std::int64_t, std::int64_t, const double*, const double*, double, double*, double*,
                                 double*);

template void rms_norm<float>(const float*, std::int64_t, std::int64_t, const float*, double, float*, float*);
template void rms_norm<double>(const double*, std::int64_t, std::int64_t, const double*, double, double*, double*);
template void rms_norm_backward<float>(const float*, const float*, std::int64_t, std::int64_t, const float*, const float*,
                                       const NormGradients<float>&);
template void rms_norm_backward<double>(const double*, const double*, std::int64_t, std::int64_t, const double*, const double*,
                                        const NormGradients<double>&);

}  // namespace attn
