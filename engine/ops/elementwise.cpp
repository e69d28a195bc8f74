#include "engine/ops/elementwise.hpp"

#include "engine/kernels/kernels.hpp"
#include "engine/ops/parallel.hpp"

namespace attn {

template <class Scalar>
void add(const Scalar* a, const Scalar* b, std::int64_t n, Scalar* y) {
    const Kernels<Scalar>& k = kernels<Scalar>();
    parallel_ranges(n, 64, 1, [&](std::int64_t first, std::int64_t last) { k.add(a + first, b + first, last - first, y + first); });
}

template <class Scalar>
void multiply(const Scalar* a, const Scalar* b, std::int64_t n, Scalar* y) {
    const Kernels<Scalar>& k = kernels<Scalar>();
    parallel_ranges(n, 64, 1, [&](std::int64_t first, std::int64_t last) { k.multiply(a + first, b + first, last - first, y + first); });
}

template void multiply<float>(const float*, const float*, std::int64_t, float*);
template void multiply<double>(const double*, const double*, std::int64_t, double*);
template void add<float>(const float*, const float*, std::int64_t, float*);
template void add<double>(const double*, const double*, std::int64_t, double*);

}  // namespace attn
