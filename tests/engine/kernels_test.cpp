#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "engine/kernels/faster_build.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tensor/tensor.hpp"
#include "tests/engine/kernels_of.hpp"

namespace attn {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class Scalar>
using KernelsOf = test::KernelsOf<Scalar>;
TYPED_TEST_SUITE(KernelsOf, test::Scalars);

template <class Scalar>
void expect_near(double got, double expected, double tolerance, const std::string& what) {
    EXPECT_TRUE(std::abs(got - expected) <= tolerance) << what << ": " << got << " not " << expected;
}

TYPED_TEST(KernelsOf, MultiplyAddLoopCountsItsOperations) {
    this->on_every_build([&](const Kernels<TypeParam>& kernel) {
        EXPECT_GE(kernel.multiply_add_loop(1), 2.0 * 12 * 16 / sizeof(TypeParam));
        EXPECT_EQ(kernel.multiply_add_loop(5000), 5000 * kernel.multiply_add_loop(1));
        EXPECT_EQ(kernel.multiply_add_loop(0), 0);
    });
}

TYPED_TEST(KernelsOf, SoftmaxRowEqualsPlainLoops) {
    for (int round = 0; round < 80; ++round) {
        const std::int64_t n = this->size_up_to(70);
        const auto x = this->draw(n, round % 2 == 0 ? 1 : 20);
        const double temperature = round % 3 == 0 ? 0.7 : 1;
        std::vector<std::uint8_t> keep(static_cast<std::size_t>(n));
        for (auto& k : keep) k = this->size_up_to(4) > 1;
        const bool masked = round % 4 != 0;
        double largest = -kInf, sum = 0;
        for (std::size_t i = 0; i < keep.size(); ++i)
            if (!masked || keep[i]) largest = std::max(largest, x[i] / temperature);
        for (std::size_t i = 0; i < keep.size(); ++i)
            if (!masked || keep[i]) sum += std::exp(x[i] / temperature - largest);
        this->on_every_build([&](const Kernels<TypeParam>& kernel) {
            std::vector<TypeParam> p(static_cast<std::size_t>(n), 9);
            kernel.softmax_row(x.data(), masked ? keep.data() : nullptr, n, static_cast<TypeParam>(temperature), p.data());
            for (std::size_t i = 0; i < keep.size(); ++i) {
                if (masked && !keep[i]) EXPECT_EQ(p[i], 0);
                else expect_near<TypeParam>(p[i], std::exp(x[i] / temperature - largest) / sum, 100 * this->kEps, "softmax");
            }
        });
    }
}

TYPED_TEST(KernelsOf, SoftmaxRowEdges) {
    using Row = std::vector<TypeParam>;
    const TypeParam inf = static_cast<TypeParam>(kInf), nan = static_cast<TypeParam>(kNan);
    const TypeParam huge = static_cast<TypeParam>(1e38), lowest = -std::numeric_limits<TypeParam>::max();
    this->on_every_build([&](const Kernels<TypeParam>& kernel) {
        const auto softmax = [&](Row x, std::vector<std::uint8_t> keep = {}) {
            Row p(x.size(), 9);
            kernel.softmax_row(x.data(), keep.empty() ? nullptr : keep.data(), static_cast<std::int64_t>(x.size()), 1, p.data());
            return p;
        };
        EXPECT_EQ(softmax({3}), Row{1});
        EXPECT_EQ(softmax({1, 2, 3}, {0, 0, 0}), (Row{0, 0, 0}));
        EXPECT_EQ(softmax({-inf, -inf}), (Row{0, 0}));
        EXPECT_EQ(softmax({-inf, 5, -inf}), (Row{0, 1, 0}));
        EXPECT_EQ(softmax({1e4, 0, -1e4}), (Row{1, 0, 0}));
        EXPECT_EQ(softmax({huge, -huge}), (Row{1, 0}));
        EXPECT_EQ(softmax({lowest, lowest}), (Row{0.5, 0.5}));
        EXPECT_EQ(softmax({nan, 1, inf, 1}, {0, 1, 0, 1}), (Row{0, 0.5, 0, 0.5})) << "a masked NaN has no effect";
        for (const Row& row : {softmax({nan, 1, 2}), softmax({nan, nan, nan}), softmax({inf, 1, 2}), softmax({-inf, nan, -inf})})
            for (const TypeParam p : row) EXPECT_TRUE(std::isnan(p));
        const Row mixed = softmax({nan, 1, 2}, {1, 0, 1});
        EXPECT_TRUE(std::isnan(mixed[0]) && mixed[1] == 0 && std::isnan(mixed[2]));
        EXPECT_EQ(softmax({1, 2, 3, 4, 5}), softmax({1001, 1002, 1003, 1004, 1005})) << "shift by an integer";
    });
}

TYPED_TEST(KernelsOf, SoftmaxRowSumsToOneUpTo4096) {
    const auto x = this->draw(4096, 3);
    this->on_every_build([&](const Kernels<TypeParam>& kernel) {
        std::vector<TypeParam> p(x.size());
        kernel.softmax_row(x.data(), nullptr, 4096, 1, p.data());
        double sum = 0;
        for (const TypeParam value : p) sum += value;
        expect_near<TypeParam>(sum, 1, 1e-6, "row sum");
    });
}

TYPED_TEST(KernelsOf, ActivationsEqualTheirDefinitions) {
    std::vector<TypeParam> x = this->draw(1000, 4);
    for (const double special : {0.0, -0.0, 1e-30, -1e-30, 30.0, -30.0, 1e4, -1e4}) x.push_back(static_cast<TypeParam>(special));
    const std::int64_t n = static_cast<std::int64_t>(x.size());
    this->on_every_build([&](const Kernels<TypeParam>& kernel) {
        std::vector<TypeParam> relu(x.size()), erf(x.size()), tanh(x.size()), silu(x.size()), quick(x.size()), clipped(x.size());
        kernel.relu(x.data(), n, relu.data());
        kernel.gelu_erf(x.data(), n, erf.data());
        kernel.gelu_tanh(x.data(), n, tanh.data());
        kernel.silu(x.data(), n, silu.data());
        kernel.quick_gelu(x.data(), n, quick.data());
        kernel.gelu_clipped(x.data(), n, clipped.data());
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double v = x[i], tolerance = 8 * this->kEps * (1 + std::abs(v));
            EXPECT_EQ(relu[i], v > 0 ? x[i] : 0);
            expect_near<TypeParam>(erf[i], 0.5 * v * std::erfc(-v / std::sqrt(2.0)), tolerance, "gelu_erf " + std::to_string(v));
            expect_near<TypeParam>(tanh[i], 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))), tolerance,
                                   "gelu_tanh " + std::to_string(v));
            expect_near<TypeParam>(silu[i], v / (1 + std::exp(-v)), tolerance, "silu " + std::to_string(v));
            expect_near<TypeParam>(quick[i], v / (1 + std::exp(-1.702 * v)), tolerance, "quick_gelu " + std::to_string(v));
            expect_near<TypeParam>(clipped[i], std::min(10.0, 0.5 * v * std::erfc(-v / std::sqrt(2.0))), tolerance,
                                   "gelu_clipped " + std::to_string(v));
        }
    });
}

/// Value and slope computed together equal those computed separately, up to rounding.
TYPED_TEST(KernelsOf, GeluWithSlopeEqualsBothApart) {
    for (const std::int64_t n : {1, 5, 16, 1003}) {
        std::vector<TypeParam> x = this->draw(n, 4);
        if (n == 5) x = {0, static_cast<TypeParam>(1e30), static_cast<TypeParam>(-1e30), 90, -90};
        const std::vector<TypeParam> ones(x.size(), 1), dy = this->draw(n);
        this->on_every_build([&](const Kernels<TypeParam>& kernel) {
            const auto compare = [&](const auto& forward, const auto& backward, const auto& with_slope) {
                std::vector<TypeParam> value(x.size()), slope(x.size()), both(x.size(), 9), changed = x, dx(x.size());
                forward(x.data(), n, value.data());
                backward(x.data(), ones.data(), n, slope.data());
                with_slope(changed.data(), n, both.data());
                kernel.multiply(changed.data(), dy.data(), n, dx.data());
                for (std::size_t i = 0; i < x.size(); ++i) {
                    expect_near<TypeParam>(both[i], value[i], 4 * this->kEps * (1 + std::abs(value[i])), "value");
                    expect_near<TypeParam>(changed[i], slope[i], 16 * this->kEps, "slope");
                    EXPECT_EQ(dx[i], changed[i] * dy[i]);
                }
                TypeParam nan = static_cast<TypeParam>(kNan), of_nan = 0;
                with_slope(&nan, 1, &of_nan);
                EXPECT_TRUE(std::isnan(nan) && std::isnan(of_nan));
            };
            compare(kernel.gelu_tanh, kernel.gelu_tanh_backward, kernel.gelu_tanh_with_slope);
            compare(kernel.gelu_erf, kernel.gelu_erf_backward, kernel.gelu_erf_with_slope);
            compare(kernel.silu, kernel.silu_backward, kernel.silu_with_slope);
            compare(kernel.quick_gelu, kernel.quick_gelu_backward, kernel.quick_gelu_with_slope);
            compare(kernel.gelu_clipped, kernel.gelu_clipped_backward, kernel.gelu_clipped_with_slope);
        });
    }
}

/// The fitted tail: densely over everything that is not simply 0 or x, value and slope.
TYPED_TEST(KernelsOf, GeluErfEqualsItsDefinitionEverywhere) {
    std::vector<TypeParam> x;
    for (int i = -16'000; i <= 16'000; ++i) x.push_back(static_cast<TypeParam>(i * 1e-3));
    this->on_every_build([&](const Kernels<TypeParam>& kernel) {
        std::vector<TypeParam> slope = x, value(x.size());
        kernel.gelu_erf_with_slope(slope.data(), static_cast<std::int64_t>(x.size()), value.data());
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double v = x[i], below = 0.5 * std::erfc(-v / std::sqrt(2.0)), density = std::exp(-v * v / 2) / std::sqrt(2 * M_PI);
            expect_near<TypeParam>(value[i], v * below, this->kEps * (1 + std::abs(v)), "value at " + std::to_string(v));
            expect_near<TypeParam>(slope[i], below + v * density, 3 * this->kEps, "slope at " + std::to_string(v));
        }
    });
}

TYPED_TEST(KernelsOf, ClippedGeluIsTheLimitBeyondItEvenAtInfinity) {
    const std::vector<TypeParam> x = {static_cast<TypeParam>(INFINITY), 10.5, static_cast<TypeParam>(-INFINITY)}, ones(3, 1);
    this->on_every_build([&](const Kernels<TypeParam>& kernel) {
        std::vector<TypeParam> y(3), slope(3, 9);
        kernel.gelu_clipped(x.data(), 2, y.data());
        kernel.gelu_clipped_backward(x.data(), ones.data(), 2, slope.data());
        EXPECT_EQ(y[0], 10);
        EXPECT_EQ(y[1], 10);
        EXPECT_EQ(slope[0], 0);
        EXPECT_EQ(slope[1], 0);
    });
}

TYPED_TEST(KernelsOf, ActivationsKeepNan) {
    const TypeParam x = static_cast<TypeParam>(kNan);
    this->on_every_build([&](const Kernels<TypeParam>& kernel) {
        for (const auto f : {kernel.relu, kernel.gelu_erf, kernel.gelu_tanh, kernel.silu, kernel.quick_gelu, kernel.gelu_clipped}) {
            TypeParam y = 0;
            f(&x, 1, &y);
            EXPECT_TRUE(std::isnan(y));
        }
    });
}

TYPED_TEST(KernelsOf, LayerNormRowEqualsPlainLoops) {
    for (int round = 0; round < 40; ++round) {
        const std::int64_t n = this->size_up_to(90);
        const auto x = this->draw(n, 3), gain = this->draw(n), bias = this->draw(n);
        double mean = 0, variance = 0;
        for (const TypeParam v : x) mean += v / static_cast<double>(n);
        for (const TypeParam v : x) variance += (v - mean) * (v - mean) / static_cast<double>(n);
        this->on_every_build([&](const Kernels<TypeParam>& kernel) {
            std::vector<TypeParam> y(x.size());
            TypeParam m = 0, r = 0;
            kernel.layer_norm_rows(x.data(), 1, n, gain.data(), bias.data(), static_cast<TypeParam>(1e-5), y.data(), &m, &r);
            expect_near<TypeParam>(m, mean, 20 * this->kEps, "mean");
            expect_near<TypeParam>(r * std::sqrt(variance + 1e-5), 1, 1000 * this->kEps, "rstd");
            for (std::size_t i = 0; i < x.size() && n > 1; ++i)
                expect_near<TypeParam>(y[i], (x[i] - mean) / std::sqrt(variance + 1e-5) * gain[i] + bias[i], 3000 * this->kEps,
                                       "layer_norm");
        });
    }
}

TYPED_TEST(KernelsOf, LayerNormOfAConstantRowIsTheBias) {
    for (const std::int64_t n : {1, 2, 7, 33, 100}) {
        const std::vector<TypeParam> x(static_cast<std::size_t>(n), static_cast<TypeParam>(0.1));
        const auto gain = this->draw(n), bias = this->draw(n);
        this->on_every_build([&](const Kernels<TypeParam>& kernel) {
            std::vector<TypeParam> y(x.size());
            TypeParam m = 0, r = 0;
            kernel.layer_norm_rows(x.data(), 1, n, gain.data(), bias.data(), static_cast<TypeParam>(1e-5), y.data(), &m, &r);
            EXPECT_EQ(y, bias);
        });
    }
}

TYPED_TEST(KernelsOf, LayerNormRowsDoNotDependOnTheirNeighbours) {
    for (int round = 0; round < 20; ++round) {
        const std::int64_t n = this->size_up_to(70), rows = this->size_up_to(11), all = rows * n;
        const auto x = this->draw(all), dy = this->draw(all), plus = this->draw(all), gain = this->draw(n), bias = this->draw(n);
        const auto eps = static_cast<TypeParam>(1e-5);
        this->on_every_build([&](const Kernels<TypeParam>& kernel) {
            struct Result {
                explicit Result(std::int64_t count, std::int64_t width, std::int64_t of_rows)
                    : y(static_cast<std::size_t>(count)), dx(y), mean(static_cast<std::size_t>(of_rows)), rstd(mean),
                      dgain(static_cast<std::size_t>(width)), dbias(dgain) {}
                std::vector<TypeParam> y, dx, mean, rstd, dgain, dbias;
            } together(all, n, rows), apart(all, n, rows);
            const auto run = [&](Result& r, std::int64_t first, std::int64_t count) {
                const std::int64_t at = first * n;
                kernel.layer_norm_rows(x.data() + at, count, n, gain.data(), bias.data(), eps, r.y.data() + at, r.mean.data() + first,
                                       r.rstd.data() + first);
                kernel.layer_norm_backward_rows({.dy = dy.data() + at,
                                                 .x = x.data() + at,
                                                 .gain = gain.data(),
                                                 .mean = r.mean.data() + first,
                                                 .rstd = r.rstd.data() + first,
                                                 .plus = plus.data() + at,
                                                 .dx = r.dx.data() + at,
                                                 .dgain = r.dgain.data(),
                                                 .dbias = r.dbias.data()},
                                                count, n);
            };
            run(together, 0, rows);
            for (std::int64_t row = 0; row < rows; ++row) run(apart, row, 1);
            const std::string what = std::to_string(rows) + " rows of " + std::to_string(n);
            EXPECT_EQ(together.y, apart.y) << what;
            EXPECT_EQ(together.mean, apart.mean) << what;
            EXPECT_EQ(together.rstd, apart.rstd) << what;
            EXPECT_EQ(together.dx, apart.dx) << what;
            EXPECT_EQ(together.dgain, apart.dgain) << what;
            EXPECT_EQ(together.dbias, apart.dbias) << what;
        });
    }
}

TYPED_TEST(KernelsOf, AddRowsEqualsPlainLoops) {
    for (int round = 0; round < 40; ++round) {
        const std::int64_t n = this->size_up_to(70), rows = this->size_up_to(40);
        const auto x = this->draw(rows * n), start = this->draw(n);
        this->on_every_build([&](const Kernels<TypeParam>& kernel) {
            auto sums = start;
            kernel.add_rows(x.data(), rows, n, sums.data());
            for (std::int64_t i = 0; i < n; ++i) {
                TypeParam expected = start[static_cast<std::size_t>(i)];  // in row order, so that all bits match
                for (std::int64_t row = 0; row < rows; ++row) expected += x[static_cast<std::size_t>(row * n + i)];
                EXPECT_EQ(sums[static_cast<std::size_t>(i)], expected) << rows << " rows of " << n << ", column " << i;
            }
        });
    }
}

TYPED_TEST(KernelsOf, AdamwEqualsPlainLoops) {
    const AdamwArguments<TypeParam> a{.decay = static_cast<TypeParam>(0.99),
                                      .gradient_factor = static_cast<TypeParam>(0.7),
                                      .beta1 = static_cast<TypeParam>(0.9),
                                      .beta2 = static_cast<TypeParam>(0.95),
                                      .rate = static_cast<TypeParam>(0.03),
                                      .root_correction = static_cast<TypeParam>(2.5),
                                      .eps = static_cast<TypeParam>(1e-8)};
    for (int round = 0; round < 20; ++round) {
        const std::int64_t n = this->size_up_to(70);
        const auto gradient = this->draw(n), parameter = this->draw(n), mean = this->draw(n);
        auto square = this->draw(n);
        for (TypeParam& s : square) s *= s;
        this->on_every_build([&](const Kernels<TypeParam>& kernel) {
            auto p = parameter, m = mean, v = square;
            kernel.adamw(a, n, gradient.data(), p.data(), m.data(), v.data());
            for (std::size_t i = 0; i < p.size(); ++i) {
                const double g = static_cast<double>(gradient[i]) * static_cast<double>(a.gradient_factor);
                const double m1 = static_cast<double>(a.beta1) * mean[i] + (1 - static_cast<double>(a.beta1)) * g;
                const double v1 = static_cast<double>(a.beta2) * square[i] + (1 - static_cast<double>(a.beta2)) * g * g;
                const double move = static_cast<double>(a.rate) * m1 / (std::sqrt(v1) * static_cast<double>(a.root_correction) + 1e-8);
                expect_near<TypeParam>(m[i], m1, 8 * this->kEps * (1 + std::abs(m1)), "first moment");
                expect_near<TypeParam>(v[i], v1, 8 * this->kEps * (1 + std::abs(v1)), "second moment");
                expect_near<TypeParam>(p[i], parameter[i] * static_cast<double>(a.decay) - move, 30 * this->kEps * (1 + std::abs(move)),
                                       "parameter");
            }
        });
    }
}

TYPED_TEST(KernelsOf, AllFiniteFindsEveryBadPlace) {
    for (const double bad : {kNan, kInf, -kInf})
        for (std::size_t n = 1; n < 40; ++n)
            for (std::size_t at = 0; at < n; at += 3) {
                std::vector<TypeParam> x(n, 1);
                this->on_every_build(
                    [&](const Kernels<TypeParam>& kernel) { EXPECT_TRUE(kernel.all_finite(x.data(), static_cast<std::int64_t>(n))); });
                x[at] = static_cast<TypeParam>(bad);
                this->on_every_build(
                    [&](const Kernels<TypeParam>& kernel) { EXPECT_FALSE(kernel.all_finite(x.data(), static_cast<std::int64_t>(n))); });
            }
}

TEST(FasterBuild, IsOneOfTheTwoAndTheActiveOneRunsHere) {
    const std::vector<KernelBuild> builds = available_kernel_builds();
    EXPECT_NE(std::find(builds.begin(), builds.end(), active_kernel_build()), builds.end());
    EXPECT_EQ(active_kernel_build(), active_kernel_build()) << "chosen once";
    for (const KernelBuild build : builds) EXPECT_EQ(faster_build(build, build), build);
    // On every processor with wider vectors, four numbers at a time without FMA must be slower.
    if (builds.back() != KernelBuild::Baseline) {
        EXPECT_EQ(faster_build(builds.back(), KernelBuild::Baseline), builds.back());
        EXPECT_EQ(faster_build(KernelBuild::Baseline, builds.back()), builds.back());
    }
}

}  // namespace
}  // namespace attn
