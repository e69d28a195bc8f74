/// Eigen's product, the baseline for ours, multiplies the same operands on every kernel build.

#include "engine/kernels/eigen_product.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>
#include <vector>

namespace attn {
namespace {

struct Operand {
    std::int64_t rows, columns;
    Transpose transpose;
    std::vector<float> values;

    std::int64_t step() const { return (transpose == Transpose::Yes ? rows : columns) + 3; }  // rows are not contiguous
    float at(std::int64_t i, std::int64_t j) const {
        return values[static_cast<std::size_t>(transpose == Transpose::Yes ? j * step() + i : i * step() + j)];
    }
};

Operand operand(std::int64_t rows, std::int64_t columns, Transpose transpose, int seed) {
    Operand made{rows, columns, transpose, {}};
    made.values.resize(static_cast<std::size_t>((transpose == Transpose::Yes ? columns : rows) * made.step()));
    for (std::size_t i = 0; i < made.values.size(); ++i)
        made.values[i] = static_cast<float>((i * 37 + static_cast<std::size_t>(seed)) % 101) / 50 - 1;
    return made;
}

class EigenProductOf : public testing::TestWithParam<std::tuple<Transpose, Transpose>> {};

TEST_P(EigenProductOf, IsTheProductOnEveryBuild) {
    const auto [of_a, of_b] = GetParam();
    for (const KernelBuild build : available_kernel_builds())
        for (const auto& [m, n, k] : std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>>{
                 {1, 1, 1}, {1, 37, 19}, {33, 1, 8}, {5, 7, 1}, {31, 67, 43}}) {
            const Operand a = operand(m, k, of_a, 1), b = operand(k, n, of_b, 2);
            std::vector<float> c(static_cast<std::size_t>(m * n), std::nanf(""));
            GemmArguments<float> g;
            g.m = m, g.n = n, g.k = k;
            g.a = a.values.data(), g.lda = a.step(), g.transpose_a = of_a;
            g.b = b.values.data(), g.ldb = b.step(), g.transpose_b = of_b;
            g.c = c.data(), g.ldc = n;
            eigen_product(build)(g, 2);
            for (std::int64_t i = 0; i < m; ++i)
                for (std::int64_t j = 0; j < n; ++j) {
                    double sum = 0;
                    for (std::int64_t p = 0; p < k; ++p) sum += static_cast<double>(a.at(i, p)) * static_cast<double>(b.at(p, j));
                    EXPECT_NEAR(c[static_cast<std::size_t>(i * n + j)], sum, 1e-6 * static_cast<double>(k))
                        << kernel_build_name(build) << ' ' << m << 'x' << n << 'x' << k << " at " << i << ',' << j;
                }
        }
}

INSTANTIATE_TEST_SUITE_P(Transposes, EigenProductOf,
                         testing::Combine(testing::Values(Transpose::No, Transpose::Yes), testing::Values(Transpose::No, Transpose::Yes)));

}  // namespace
}  // namespace attn
