// Softmax over several rows at once against plain loops over single rows: causal and masked cells, strides, copies, every build.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "engine/kernels/kernels.hpp"

namespace attn {
namespace {

template <class Value>
class SoftmaxRowsOf : public testing::Test {
protected:
    using Numbers = std::vector<Value>;
    static constexpr Value kUntouched = 77;
    static constexpr double kTolerance = 100 * std::numeric_limits<Value>::epsilon();

    std::int64_t up_to(std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(0, most)(random_); }

    /// Random rows: complete, causal from some row on, or with random cells kept.
    SoftmaxCells draw_cells(int round) {
        SoftmaxCells cells{.rows = 1 + up_to(29), .n = 1 + up_to(90)};
        cells.most_allowed = 1 + up_to(cells.n - 1);
        cells.allowed = cells.most_allowed;
        if (round % 3 == 1) cells.allowed = 1 + up_to(cells.most_allowed - 1), cells.allowed_step = 1;
        if (round % 3 == 2) {
            cells.keep_stride = cells.most_allowed + up_to(3);
            keep_.resize(static_cast<std::size_t>(cells.rows * cells.keep_stride));
            for (auto& k : keep_) k = up_to(3) > 0;
            cells.keep = keep_.data();
        }
        return cells;
    }
    static bool takes_part(const SoftmaxCells& cells, std::int64_t r, std::int64_t i) {
        return i < std::min(cells.allowed + r * cells.allowed_step, cells.most_allowed) &&
               (cells.keep == nullptr || cells.keep[r * cells.keep_stride + i] != 0);
    }
    /// Rows of numbers, with NaN in cells that must not be read.
    Numbers draw(const SoftmaxCells& cells, std::int64_t stride) {
        std::normal_distribution<double> normal(0, 3);
        Numbers out(static_cast<std::size_t>(cells.rows * stride), std::numeric_limits<Value>::quiet_NaN());
        for (std::int64_t r = 0; r < cells.rows; ++r)
            for (std::int64_t i = 0; i < cells.n; ++i)
                if (takes_part(cells, r, i)) out[static_cast<std::size_t>(r * stride + i)] = static_cast<Value>(normal(random_));
        return out;
    }
    template <class F>
    void on_every_build(const F& f) {
        for (const KernelBuild build : available_kernel_builds()) {
            SCOPED_TRACE(kernel_build_name(build));
            f(kernels_of<Value>(build));
        }
    }
    static double softmax(const SoftmaxCells& cells, const Value* x, double temperature, std::int64_t r, std::int64_t i) {
        double sum = 0;
        for (std::int64_t j = 0; j < cells.n; ++j)
            if (takes_part(cells, r, j)) sum += std::exp((static_cast<double>(x[j]) - static_cast<double>(x[i])) / temperature);
        return 1 / sum;
    }

    std::mt19937 random_{5};
    std::vector<std::uint8_t> keep_;
};

using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(SoftmaxRowsOf, Scalars);

TYPED_TEST(SoftmaxRowsOf, EqualPlainLoopsAndWriteNothingElse) {
    for (int round = 0; round < 90; ++round) {
        const SoftmaxCells cells = this->draw_cells(round);
        const std::int64_t stride = cells.n + this->up_to(9), copy_n = cells.most_allowed + this->up_to(40),
                           copy_stride = copy_n + this->up_to(3);
        const double temperature = round % 2 == 0 ? 1 : 0.7;
        const auto x = this->draw(cells, stride);
        this->on_every_build([&](const Kernels<TypeParam>& kernel) {
            std::vector<TypeParam> p(x.size(), this->kUntouched),
                copy(static_cast<std::size_t>(cells.rows * copy_stride), this->kUntouched);
            kernel.softmax_rows(
                {cells, x.data(), stride, p.data(), stride, copy.data(), copy_stride, copy_n, static_cast<TypeParam>(temperature)});
            for (std::int64_t r = 0; r < cells.rows; ++r)
                for (std::int64_t i = 0; i < std::max(stride, copy_stride); ++i) {
                    const double expected =
                        this->takes_part(cells, r, i) ? this->softmax(cells, x.data() + r * stride, temperature, r, i) : 0;
                    const std::string where = std::to_string(r) + "," + std::to_string(i);
                    const auto check = [&](const std::vector<TypeParam>& y, std::int64_t y_stride, std::int64_t n) {
                        if (i >= y_stride) return;
                        const double value = y[static_cast<std::size_t>(r * y_stride + i)];
                        if (i >= n) ASSERT_EQ(value, this->kUntouched) << where;
                        else ASSERT_TRUE(std::abs(value - expected) <= (expected == 0 ? 0 : this->kTolerance)) << where << ": " << value;
                    };
                    check(p, stride, cells.n);
                    check(copy, copy_stride, copy_n);
                }
            std::vector<TypeParam> in_place = x;
            kernel.softmax_rows(
                {cells, in_place.data(), stride, in_place.data(), stride, nullptr, 0, 0, static_cast<TypeParam>(temperature)});
            for (std::int64_t r = 0; r < cells.rows; ++r)
                for (std::int64_t i = 0; i < cells.n; ++i)
                    ASSERT_EQ(in_place[static_cast<std::size_t>(r * stride + i)], p[static_cast<std::size_t>(r * stride + i)]);
        });
    }
}

TYPED_TEST(SoftmaxRowsOf, BackwardEqualsPlainLoopsAndWritesNothingElse) {
    constexpr double kFactor = 0.3;
    for (int round = 0; round < 90; ++round) {
        const SoftmaxCells cells = this->draw_cells(round);
        const std::int64_t stride = cells.n + this->up_to(9), p_stride = cells.most_allowed + this->up_to(2);
        const auto drawn = this->draw(cells, stride), dp = this->draw(cells, stride);
        std::vector<TypeParam> p(static_cast<std::size_t>(cells.rows * p_stride), std::numeric_limits<TypeParam>::quiet_NaN());
        for (std::int64_t r = 0; r < cells.rows; ++r)
            for (std::int64_t i = 0; i < cells.most_allowed; ++i)
                if (this->takes_part(cells, r, i))  // weights, since the kept cells of a row sum to 1
                    p[static_cast<std::size_t>(r * p_stride + i)] =
                        static_cast<TypeParam>(this->softmax(cells, drawn.data() + r * stride, 1, r, i));
        this->on_every_build([&](const Kernels<TypeParam>& kernel) {
            std::vector<TypeParam> dx(dp.size(), this->kUntouched);
            kernel.softmax_backward_rows(
                {cells, p.data(), p_stride, dp.data(), stride, dx.data(), stride, static_cast<TypeParam>(kFactor)});
            for (std::int64_t r = 0; r < cells.rows; ++r) {
                double total = 0, size = 1;
                for (std::int64_t i = 0; i < cells.most_allowed; ++i)
                    if (this->takes_part(cells, r, i)) {
                        const double product = static_cast<double>(p[static_cast<std::size_t>(r * p_stride + i)]) *
                                               static_cast<double>(dp[static_cast<std::size_t>(r * stride + i)]);
                        total += product, size += std::abs(product);
                    }
                for (std::int64_t i = 0; i < stride; ++i) {
                    const double value = dx[static_cast<std::size_t>(r * stride + i)];
                    if (i >= cells.n) ASSERT_EQ(value, this->kUntouched);
                    else if (!this->takes_part(cells, r, i)) ASSERT_EQ(value, 0);
                    else {
                        const double weight = p[static_cast<std::size_t>(r * p_stride + i)];
                        const double expected =
                            kFactor * weight * (static_cast<double>(dp[static_cast<std::size_t>(r * stride + i)]) - total);
                        ASSERT_TRUE(std::abs(value - expected) <= this->kTolerance * size * (1 + std::abs(weight)))
                            << r << "," << i << ": " << value << " for " << expected;
                    }
                }
            }
        });
    }
}

}  // namespace
}  // namespace attn
