// The innermost loops at the limits of arithmetic, in every build that this processor supports.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "engine/kernels/kernels.hpp"
#include "engine/tensor/arithmetic.hpp"

namespace attn {
namespace {

template <class Scalar>
class KernelEdges : public testing::Test {
protected:
    template <class F>
    void on_every_build(const F& f) {
        for (const KernelBuild build : available_kernel_builds()) {
            SCOPED_TRACE(kernel_build_name(build));
            f(kernels_of<Scalar>(build));
        }
    }
    static std::vector<Scalar> softmax(const Kernels<Scalar>& kernel, const std::vector<Scalar>& x) {
        std::vector<Scalar> p(x.size(), 9);
        kernel.softmax_row(x.data(), nullptr, static_cast<std::int64_t>(x.size()), 1, p.data());
        return p;
    }
};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(KernelEdges, Scalars);

/// The weight of -x beside 0 is e^-x: normal down to the first limit, subnormal down to the second, then 0.
TYPED_TEST(KernelEdges, ExponentialsUnderflowGraduallyAndEndAtZero) {
    const bool is_float = sizeof(TypeParam) == 4;
    const double last_normal = is_float ? 87.3365 : 708.396, first_zero = is_float ? 103.98 : 745.14;
    const auto smallest = static_cast<double>(std::numeric_limits<TypeParam>::denorm_min());
    this->on_every_build([&](const Kernels<TypeParam>& kernel) {
        for (const double x : {1.0, 50.0, last_normal - 0.01, last_normal + 0.5, first_zero - 1, first_zero - 0.5, first_zero, 1e4}) {
            const auto p = this->softmax(kernel, {0, static_cast<TypeParam>(-x)});
            const double e = std::exp(static_cast<double>(static_cast<TypeParam>(-x))), expected = e / (1 + e);
            const double tolerance = 4 * std::numeric_limits<TypeParam>::epsilon() * expected + smallest;
            EXPECT_TRUE(std::abs(p[1] - expected) <= tolerance) << "e^-" << x << " is " << p[1];
            EXPECT_EQ(p[1] > 0, x < first_zero) << x;
        }
    });
}

/// Positive exponents do not occur in a softmax, but in the logistic function inside GELU, which must give exactly 0 or x far out, not NaN.
TYPED_TEST(KernelEdges, ExponentialsThatOverflowLeaveGeluExact) {
    this->on_every_build([&](const Kernels<TypeParam>& kernel) {
        for (const double size : {88.0, 89.0, 710.0, 1e10, 1e30}) {
            const TypeParam x[] = {static_cast<TypeParam>(size), static_cast<TypeParam>(-size)};
            TypeParam y[2], dx[2];
            const TypeParam dy[] = {1, 1};
            kernel.gelu_tanh(x, 2, y);
            kernel.gelu_tanh_backward(x, dy, 2, dx);
            EXPECT_EQ(y[0], x[0]) << size;
            EXPECT_EQ(y[1], 0) << size;
            EXPECT_EQ(dx[0], 1) << size;
            EXPECT_EQ(dx[1], 0) << size;
            kernel.gelu_erf(x, 2, y);
            kernel.gelu_erf_backward(x, dy, 2, dx);
            EXPECT_EQ(y[0], x[0]) << size;
            EXPECT_TRUE(std::abs(y[1]) <= 1e-40) << size;
            EXPECT_TRUE(std::abs(dx[0] - 1) <= 1e-6 && std::abs(dx[1]) <= 1e-6) << size;
        }
    });
}

TYPED_TEST(KernelEdges, CrossEntropyOfHugeLogitsIsFinite) {
    this->on_every_build([&](const Kernels<TypeParam>& kernel) {
        for (const double size : {1e4, 1e38}) {
            const TypeParam x[] = {static_cast<TypeParam>(size), 0, 0};
            TypeParam dx[3];
            EXPECT_EQ(kernel.cross_entropy_row(x, 3, 0, 1, dx).loss, 0);
            EXPECT_TRUE(dx[0] == 0 && dx[1] == 0 && dx[2] == 0);
            const double loss = kernel.cross_entropy_row(x, 3, 1, 1, dx).loss;
            EXPECT_TRUE(std::abs(loss / size - 1) <= 1e-7) << loss;
            EXPECT_TRUE(dx[0] == 1 && dx[1] == -1 && dx[2] == 0);
        }
    });
}

/// A constant row normalises to 0, so its gradient is finite too; a row with one number has none.
TYPED_TEST(KernelEdges, LayerNormOfConstantRowsHasFiniteGradients) {
    this->on_every_build([&](const Kernels<TypeParam>& kernel) {
        for (const std::size_t n : {1, 2, 7, 33}) {
            const std::vector<TypeParam> x(n, static_cast<TypeParam>(0.3)), gain(n, 2), bias(n, static_cast<TypeParam>(0.25));
            std::vector<TypeParam> dy(n), y(n), dx(n, 9), dgain(n), dbias(n);
            for (std::size_t i = 0; i < n; ++i) dy[i] = static_cast<TypeParam>(1 + i % 3);
            const auto count = static_cast<std::int64_t>(n);
            TypeParam mean = 0, rstd = 0;
            kernel.layer_norm_rows(x.data(), 1, count, gain.data(), bias.data(), static_cast<TypeParam>(1e-5), y.data(), &mean, &rstd);
            kernel.layer_norm_backward_rows({.dy = dy.data(),
                                             .x = x.data(),
                                             .gain = gain.data(),
                                             .mean = &mean,
                                             .rstd = &rstd,
                                             .plus = nullptr,
                                             .dx = dx.data(),
                                             .dgain = dgain.data(),
                                             .dbias = dbias.data()},
                                            1, count);
            EXPECT_EQ(y, bias);
            EXPECT_EQ(mean, x[0]);
            EXPECT_EQ(dbias, dy);
            EXPECT_EQ(dgain, std::vector<TypeParam>(n));
            double sum = 0;
            for (const TypeParam d : dx) {
                EXPECT_TRUE(std::isfinite(d));
                sum += d;
            }
            EXPECT_TRUE(std::abs(sum) <= 1e-4 * std::abs(dx[0]));
            EXPECT_TRUE(n > 1 || dx[0] == 0);
        }
    });
}

TYPED_TEST(KernelEdges, RowsFiniteLooksAtNothingBesideTheRows) {
    for (const std::int64_t n : {1, 5, 16, 19}) {
        std::vector<TypeParam> x(static_cast<std::size_t>(7 * (n + 3)), 1);
        for (std::int64_t row = 0; row < 7; ++row)
            for (std::int64_t i = n; i < n + 3; ++i)
                x[static_cast<std::size_t>(row * (n + 3) + i)] = std::numeric_limits<TypeParam>::quiet_NaN();
        this->on_every_build([&](const Kernels<TypeParam>& kernel) {
            EXPECT_TRUE(kernel.rows_finite(x.data(), 7, n, n + 3));
            EXPECT_TRUE(kernel.rows_finite(x.data() + n, 0, 3, n + 3));
            for (const double bad : {double(NAN), HUGE_VAL, -HUGE_VAL})
                for (const std::int64_t at : {std::int64_t{0}, 3 * (n + 3) + n / 2, 6 * (n + 3) + n - 1}) {
                    auto bitten = x;
                    bitten[static_cast<std::size_t>(at)] = static_cast<TypeParam>(bad);
                    EXPECT_FALSE(kernel.rows_finite(bitten.data(), 7, n, n + 3)) << at;
                }
        });
    }
}

TEST(Arithmetic, IsThatOfIeee754InEveryThread) {
    EXPECT_NO_THROW(require_ieee_arithmetic());
    std::vector<int> good(8);
#pragma omp parallel for
    for (int i = 0; i < 8; ++i) {
        try {
            require_ieee_arithmetic();
            good[static_cast<std::size_t>(i)] = 1;
        } catch (const std::exception&) {
            good[static_cast<std::size_t>(i)] = 0;
        }
    }
    EXPECT_EQ(good, std::vector<int>(8, 1));
}

}  // namespace
}  // namespace attn
