#include "engine/ops/column_sums.hpp"

#include "engine/kernels/kernels.hpp"

namespace attn {

template <class Scalar>
void add_column_sums(const Scalar* x, std::int64_t rows, std::int64_t width, Scalar* sums) {
    const Kernels<Scalar>& kernel = kernels<Scalar>();
    sum_in_runs(rows, width, width / 4 + 1, sums, [&](std::int64_t first, std::int64_t last, Scalar* partial) {
        kernel.add_rows(x + first * width, last - first, width, partial);
    });
}

template void add_column_sums<float>(const float*, std::int64_t, std::int64_t, float*);
template void add_column_sums<double>(const double*, std::int64_t, std::int64_t, double*);

}  // namespace attn
