#include "engine/ops/softmax.hpp"

#include "engine/kernels/kernels.hpp"
#include "engine/ops/parallel.hpp"

namespace attn {

template <class Scalar>
void softmax(const Scalar* x, std::int64_t rows, std::int64_t n, Scalar* p) {
    const Kernels<Scalar>& k = kernels<Scalar>();
    parallel_for(rows, 4 * n, [&](std::int64_t row) { k.softmax_row(x + row * n, nullptr, n, Scalar{1}, p + row * n); });
}

template void softmax<float>(const float*, std::int64_t, std::int64_t, float*);
template void softmax<double>(const double*, std::int64_t, std::int64_t, double*);

}  // namespace attn
