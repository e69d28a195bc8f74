#include "engine/ops/layer_norm.hpp"

#include "engine/kernels/kernels.hpp"
#include "engine/ops/parallel.hpp"

namespace attn {

template <class Scalar>
void layer_norm(const Scalar* x, std::int64_t rows, std::int64_t n, const Scalar* gain, const Scalar* bias, double eps, Scalar* y,
                Scalar* mean, Scalar* rstd) {
    const Kernels<Scalar>& k = kernels<Scalar>();
    parallel_for(rows, n, [&](std::int64_t row) {
        k.layer_norm_row(x + row * n, gain, bias, static_cast<Scalar>(eps), n, y + row * n, mean + row, rstd + row);
    });
}

template void layer_norm<float>(const float*, std::int64_t, std::int64_t, const float*, const float*, double, float*, float*, float*);
template void layer_norm<double>(const double*, std::int64_t, std::int64_t, const double*, const double*, double, double*, double*,
                                 double*);

}  // namespace attn
