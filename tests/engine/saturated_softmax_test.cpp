// Gradients through nearly one-hot rows of weights, with logits up to tens of thousands, against doubles without cancellation.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/engine/attention_paths.hpp"

namespace attn {
namespace {

using test::AttentionCase;
using test::AttentionResult;

/// The gradient of q, and for every number its possible error in units of a single float rounding of its terms.
struct Expected {
    Tensor<double> dq, unit;
};

template <class A, class B>
double dot(const A* a, const B* b, std::int64_t n) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    return sum;
}

/// One query's row of the map.
struct Row {
    std::vector<double> p, dp;

    Row(const AttentionCase<float>& in, const AttentionSizes& sizes, std::int64_t b, std::int64_t h, std::int64_t t)
        : p(static_cast<std::size_t>(sizes.keys)), dp(p.size()) {
        const std::int64_t head = b * sizes.heads + h, d = sizes.head_size, dv = sizes.value_size;
        double top = -HUGE_VAL, sum = 0;
        for (std::size_t s = 0; s < p.size(); ++s) {
            const std::int64_t key = head * sizes.keys + static_cast<std::int64_t>(s);
            p[s] = in.mask.may_attend(b, h, t, static_cast<std::int64_t>(s))
                       ? (in.factor * dot(in.q.data() + (head * sizes.queries + t) * d, in.k.data() + key * d, d) +
                          (in.mask.has_bias() ? in.mask.bias_row(b, h, t)[s] : 0)) /
                             in.temperature
                       : -HUGE_VAL;
            dp[s] = dot(in.dcontext.data() + (head * sizes.queries + t) * dv, in.v.data() + key * dv, dv);
            top = std::max(top, p[s]);
        }
        for (double& x : p) sum += x = x == -HUGE_VAL ? 0 : std::exp(x - top);
        for (double& x : p) x = sum == 0 ? 0 : x / sum;
    }
    /// p (dp - sum p dp) as a sum of differences, without cancellation where p is nearly 1; and the size of its terms, at least that of a
    /// weight of 1e-8, below which accuracy does not matter.
    std::pair<double, double> gradient(std::size_t s) const {
        double sum = 0, parts = 0;
        for (std::size_t j = 0; j < p.size(); ++j) {
            if (j == s) continue;
            sum += p[j] * (dp[s] - dp[j]);
            parts += p[j] * (std::abs(dp[s]) + std::abs(dp[j]) + 1);
        }
        return {p[s] * sum, p[s] * parts + 1e-8 * (1 + std::abs(dp[s]))};
    }
};

Expected expected_gradient(const AttentionCase<float>& in) {
    const AttentionSizes sizes = attention_sizes(in.q, in.k, in.v);
    Expected out{Tensor<double>(in.q.shape()), Tensor<double>(in.q.shape())};
    for (std::int64_t row = 0; row < sizes.batches * sizes.heads * sizes.queries; ++row) {
        const std::int64_t head = row / sizes.queries, d = sizes.head_size;
        const Row map(in, sizes, head / sizes.heads, head % sizes.heads, row % sizes.queries);
        for (std::size_t s = 0; s < map.p.size(); ++s) {
            const auto [gradient, parts] = map.gradient(s);
            const float* k = in.k.data() + (head * sizes.keys + static_cast<std::int64_t>(s)) * d;
            for (std::int64_t i = 0; i < d; ++i) {
                out.dq.data()[row * d + i] += in.factor / in.temperature * gradient * static_cast<double>(k[i]);
                out.unit.data()[row * d + i] += in.factor / in.temperature * parts * std::abs(static_cast<double>(k[i])) * 0x1p-24;
            }
        }
    }
    return out;
}

/// The largest error of dq in those units, or in a thousandth of the largest number.
double error_in_units(const Tensor<float>& dq, const Expected& expected) {
    double worst = 0, largest = 1e-30;
    for (std::int64_t i = 0; i < dq.size(); ++i) largest = std::max(largest, expected.unit.data()[i]);
    for (std::int64_t i = 0; i < dq.size(); ++i) {
        const double error = std::abs(static_cast<double>(dq.data()[i]) - expected.dq.data()[i]);
        if (!(error / (expected.unit.data()[i] + 1e-3 * largest) <= worst)) worst = error / (expected.unit.data()[i] + 1e-3 * largest);
    }
    return worst;
}

/// The straightforward computation: every product and sum rounded to float, in order.
Tensor<float> plain_gradient(const AttentionCase<float>& in) {
    const AttentionSizes sizes = attention_sizes(in.q, in.k, in.v);
    const std::int64_t keys = sizes.keys, d = sizes.head_size, dv = sizes.value_size;
    const auto dot_float = [](const float* a, const float* b, std::int64_t n) {
        volatile float sum = 0;  // neither fused nor reordered
        for (std::int64_t i = 0; i < n; ++i) {
            volatile float product = a[i] * b[i];
            sum = sum + product;
        }
        return static_cast<float>(sum);
    };
    Tensor<float> dq(in.q.shape());
    for (std::int64_t row = 0; row < sizes.batches * sizes.heads * sizes.queries; ++row) {
        const std::int64_t head = row / sizes.queries, b = head / sizes.heads, h = head % sizes.heads, t = row % sizes.queries;
        std::vector<float> p(static_cast<std::size_t>(keys)), dp(p.size());
        float top = -HUGE_VALF, sum = 0, total = 0;
        for (std::int64_t s = 0; s < keys; ++s) {
            const auto at = static_cast<std::size_t>(s);
            const float x = static_cast<float>(in.factor) * dot_float(in.q.data() + row * d, in.k.data() + (head * keys + s) * d, d);
            const float bias = in.mask.has_bias() ? static_cast<float>(in.mask.bias_row(b, h, t)[s]) : 0.0F;
            p[at] = in.mask.may_attend(b, h, t, s) ? (x + bias) / static_cast<float>(in.temperature) : -HUGE_VALF;
            dp[at] = dot_float(in.dcontext.data() + row * dv, in.v.data() + (head * keys + s) * dv, dv);
            top = std::max(top, p[at]);
        }
        for (float& x : p) sum += x = x == -HUGE_VALF ? 0 : std::exp(x - top);
        for (float& x : p) x = sum == 0 ? 0 : x / sum;
        for (std::size_t s = 0; s < p.size(); ++s) total += p[s] * dp[s];
        for (std::int64_t s = 0; s < keys; ++s) {
            const auto at = static_cast<std::size_t>(s);
            const float gradient = p[at] * (dp[at] - total) * static_cast<float>(in.factor / in.temperature);
            for (std::int64_t i = 0; i < d; ++i) dq.data()[row * d + i] += gradient * in.k.data()[(head * keys + s) * d + i];
        }
    }
    return dq;
}

class SaturatedSoftmaxGradients : public testing::Test {
protected:
    Tensor<float> draw(const Shape& shape, double size) {
        std::normal_distribution<double> normal(0, size);
        Tensor<float> out(shape);
        for (float& x : out.values()) x = static_cast<float>(normal(random_));
        return out;
    }
    /// `times` scales the logits: in half of the cases by the factor, otherwise in q and k.
    AttentionCase<float> draw_case(int round, double times) {
        const std::int64_t t = 1 + static_cast<std::int64_t>(random_() % 40),
                           s = round % 4 == 1 ? t : 1 + static_cast<std::int64_t>(random_() % 50),
                           d = 1 + static_cast<std::int64_t>(random_() % 9);
        const double by_rows = round % 2 == 0 ? std::sqrt(times) : 1;
        AttentionCase<float> in;
        in.q = draw({{Axis::B, 2}, {Axis::H, 2}, {Axis::T, t}, {Axis::D, d}}, by_rows);
        in.k = draw({{Axis::B, 2}, {Axis::H, 2}, {Axis::S, s}, {Axis::D, d}}, by_rows);
        in.v = draw({{Axis::B, 2}, {Axis::H, 2}, {Axis::S, s}, {Axis::D, 5}}, 1);
        in.dcontext = draw({{Axis::B, 2}, {Axis::H, 2}, {Axis::T, t}, {Axis::D, 5}}, 1);
        in.factor = (round % 2 == 0 ? 1 : times) / std::sqrt(static_cast<double>(d));
        in.temperature = round % 3 == 0 ? 0.7 : 1;
        in.mask = draw_mask(round, t, s);
        return in;
    }
    Mask draw_mask(int round, std::int64_t t, std::int64_t s) {
        if (round % 4 == 0) return {t, s};
        if (round % 4 == 1) return Mask::causal(t, s);
        if (round % 4 == 2) return Mask::padding({s, 1 + static_cast<std::int64_t>(random_() % static_cast<unsigned>(s))}, t, s);
        std::vector<double> bias(static_cast<std::size_t>(t * s));
        for (double& x : bias) x = random_() % 4 == 0 ? -HUGE_VAL : std::normal_distribution<double>(0, 2)(random_);
        return Mask::from_additive({t, s}, bias, {2, 2, t, s});
    }
    std::mt19937 random_{7};
};

constexpr int kRounds = 24;

/// A weight's error is that of its exponent, up to 24 after subtracting the largest logit, plus a few roundings.
constexpr double kUnits = 200;

TEST_F(SaturatedSoftmaxGradients, AreAsExactWithLargeLogitsAsWithSmallOnes) {
    for (const double times : {1.0, 10.0, 100.0, 1e3, 3600.0, 1e4})
        for (int round = 0; round < kRounds; ++round) {
            const AttentionCase<float> in = draw_case(round, times);
            const Expected expected = expected_gradient(in);
            EXPECT_LE(error_in_units(test::Fused<float>::run(in).dq, expected), kUnits) << "fused, " << times << ", round " << round;
            EXPECT_LE(error_in_units(test::PreciselyStaged<float>::run(in).dq, expected), kUnits)
                << "by stages, " << times << ", round " << round;
        }
}

TEST_F(SaturatedSoftmaxGradients, OfRecordedStagesAreNoWorseThanPlainArithmeticGives) {
    // Weights are computed from the recorded masked scores, in float.
    for (const double times : {1.0, 10.0, 100.0, 1e3, 1e4}) {
        double staged = 0, plain = 0;
        for (int round = 0; round < kRounds; ++round) {
            const AttentionCase<float> in = draw_case(round, times);
            const Expected expected = expected_gradient(in);
            staged += std::log(1e-3 + error_in_units(test::Staged<float>::run(in).dq, expected));
            plain += std::log(1e-3 + error_in_units(plain_gradient(in), expected));
        }
        EXPECT_LE(staged / kRounds, plain / kRounds + std::log(1.3)) << times;
    }
}

TEST_F(SaturatedSoftmaxGradients, PlainArithmeticWouldNotPass) {
    int passed = 0;
    for (int round = 0; round < kRounds; ++round) {
        const AttentionCase<float> in = draw_case(round, 1e3);
        passed += error_in_units(plain_gradient(in), expected_gradient(in)) <= kUnits ? 1 : 0;
    }
    EXPECT_LE(passed, kRounds / 2);
}

TEST_F(SaturatedSoftmaxGradients, WeightsOfNearlyTyingLargeLogitsAreExact) {
    // 4096.0002 and 4096: float cannot represent their difference or the former.
    AttentionCase<float> in;
    in.q = Tensor<float>({{Axis::B, 1}, {Axis::H, 1}, {Axis::T, 1}, {Axis::D, 2}});
    in.k = in.v = Tensor<float>({{Axis::B, 1}, {Axis::H, 1}, {Axis::S, 2}, {Axis::D, 2}});
    in.dcontext = Tensor<float>(in.q.shape());
    in.q.data()[0] = 64, in.q.data()[1] = 1.0F / 64;
    in.k.data()[0] = in.k.data()[2] = 64, in.k.data()[1] = 1.0F / 80;
    in.mask = Mask(1, 2);
    const double expected = 1 / (1 + std::exp(-static_cast<double>(in.q.data()[1]) * static_cast<double>(in.k.data()[1])));
    EXPECT_NEAR(test::Fused<float>::run(in).weights.data()[0], expected, 1e-7);
    EXPECT_NEAR(test::PreciselyStaged<float>::run(in).weights.data()[0], expected, 1e-7);
    EXPECT_GT(std::abs(static_cast<double>(test::Staged<float>::run(in).weights.data()[0]) - expected), 4e-5) << "as recorded";
}

TEST_F(SaturatedSoftmaxGradients, ANonFiniteLogitMakesOnlyItsRowNan) {
    for (const float bad : {NAN, HUGE_VALF}) {
        AttentionCase<float> in = draw_case(1, 1e4);
        const std::int64_t t = in.q.shape()[2].size, d = in.q.shape()[3].size;
        in.q.data()[(t - 1) * d] = bad;
        const AttentionResult<float> out = test::Fused<float>::run(in);
        EXPECT_TRUE(std::isnan(out.weights.data()[t * t - 1]));
        for (std::int64_t i = 0; i < (t - 1) * t; ++i) ASSERT_TRUE(std::isfinite(out.weights.data()[i])) << i;
    }
}

}  // namespace
}  // namespace attn
