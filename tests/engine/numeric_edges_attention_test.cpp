// Attention at the limits of arithmetic and of shapes: forward and backward, stage by stage and fused, in float and double.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "engine/tensor/error.hpp"
#include "tests/engine/attention_paths.hpp"

namespace attn::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

template <class Path>
class NumericEdges : public testing::Test {
protected:
    using Scalar = typename Path::Scalar;
    using Case = AttentionCase<Scalar>;
    using Result = AttentionResult<Scalar>;
    static constexpr double kEps = std::numeric_limits<Scalar>::epsilon();

    Tensor<Scalar> draw(const Shape& shape) {
        std::normal_distribution<double> normal;
        Tensor<Scalar> out(shape);
        for (Scalar& x : out.values()) x = static_cast<Scalar>(normal(random_));
        return out;
    }
    Case draw(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t s, std::int64_t d, std::int64_t dv, Mask mask) {
        Case out;
        out.q = draw({{Axis::B, b}, {Axis::H, h}, {Axis::T, t}, {Axis::D, d}});
        out.k = draw({{Axis::B, b}, {Axis::H, h}, {Axis::S, s}, {Axis::D, d}});
        out.v = draw({{Axis::B, b}, {Axis::H, h}, {Axis::S, s}, {Axis::D, dv}});
        out.dcontext = draw({{Axis::B, b}, {Axis::H, h}, {Axis::T, t}, {Axis::D, dv}});
        out.mask = std::move(mask);
        out.factor = 1 / std::sqrt(static_cast<double>(d));
        return out;
    }
    static Result run(const Case& in) { return Path::run(in); }

    /// One head with scores[t][s] for query t and key s: queries select among as many dimensions as there are keys.
    Case with_scores(const std::vector<std::vector<double>>& scores) {
        const auto t = static_cast<std::int64_t>(scores.size()), s = static_cast<std::int64_t>(scores[0].size());
        Case out = draw(1, 1, t, s, s, 3, Mask(t, s));
        out.factor = 1;
        for (std::int64_t i = 0; i < t; ++i)
            for (std::int64_t j = 0; j < s; ++j)
                out.q(0, 0, i, j) = static_cast<Scalar>(scores[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]);
        for (std::int64_t i = 0; i < s; ++i)
            for (std::int64_t j = 0; j < s; ++j) out.k(0, 0, i, j) = i == j;
        return out;
    }

    /// Sizes below, at and beyond those of rows and vectors processed together, under all kinds of masks.
    std::vector<Case> cases() {
        std::vector<Case> out;
        for (const auto& [t, s] : {std::array<std::int64_t, 2>{1, 1}, {5, 5}, {9, 4}, {4, 21}, {67, 67}, {50, 33}}) {
            Mask hole = Mask::causal(t, s);
            for (std::int64_t key = 0; key < s; ++key) hole.forbid(t / 2, key);
            std::vector<double> bias(static_cast<std::size_t>(t * s));
            for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = i % 3 == 1 ? -kInf : 0.1 * static_cast<double>(i % 7);
            for (const Mask& mask : {Mask(t, s), Mask::causal(t, s), Mask::padding({s, (s + 1) / 2}, t, s), Mask::sliding_window(t, s, 2),
                                     hole, Mask::from_additive({t, s}, bias, {2, 2, t, s})})
                out.push_back(draw(2, 2, t, s, 3, 5, mask));
        }
        return out;
    }

    /// Calls f(b, h, t, s) for every cell of the case's maps.
    template <class F>
    static void for_cells(const Case& in, const F& f) {
        for (std::int64_t b = 0; b < 2; ++b)
            for (std::int64_t h = 0; h < 2; ++h)
                for (std::int64_t t = 0; t < in.q.shape()[2].size; ++t)
                    for (std::int64_t s = 0; s < in.k.shape()[2].size; ++s) f(b, h, t, s);
    }
    static bool same_row(const Tensor<Scalar>& a, const Tensor<Scalar>& b, std::int64_t i, std::int64_t j, std::int64_t k) {
        const Shape& shape = a.shape();
        const std::int64_t at = ((i * shape[1].size + j) * shape[2].size + k) * shape[3].size;
        return std::memcmp(a.data() + at, b.data() + at, static_cast<std::size_t>(shape[3].size) * sizeof(Scalar)) == 0;
    }
    static bool all_nan(const Tensor<Scalar>& a, std::int64_t i, std::int64_t j, std::int64_t k) {
        for (std::int64_t d = 0; d < a.shape()[3].size; ++d)
            if (!std::isnan(a(i, j, k, d))) return false;
        return true;
    }
    static bool all_zero(std::span<const Scalar> values) {
        return std::all_of(values.begin(), values.end(), [](Scalar x) { return x == 0; });
    }
    static bool all_finite(const Result& result) {
        for (const auto* tensor : {&result.weights, &result.dropped, &result.context, &result.dq, &result.dk, &result.dv})
            for (const Scalar x : tensor->values())
                if (!std::isfinite(x)) return false;
        return true;
    }
    std::mt19937 random_{17};
};

using Paths = testing::Types<Staged<float>, Staged<double>, Fused<float>, Fused<double>>;
struct PathNames {
    template <class Path>
    static std::string GetName(int) {
        const std::string scalar = sizeof(typename Path::Scalar) == 4 ? "Float" : "Double";
        return (std::is_same_v<Path, Staged<typename Path::Scalar>> ? "Staged" : "Fused") + scalar;
    }
};
TYPED_TEST_SUITE(NumericEdges, Paths, PathNames);

TYPED_TEST(NumericEdges, AFullyMaskedRowIsZeroForwardAndBackward) {
    for (const auto& in : this->cases()) {
        const auto out = this->run(in);
        ASSERT_TRUE(this->all_finite(out));
        for (std::int64_t b = 0; b < 2; ++b)
            for (std::int64_t h = 0; h < 2; ++h)
                for (std::int64_t t = 0; t < in.q.shape()[2].size; ++t) {
                    double sum = 0;
                    for (std::int64_t s = 0; s < in.k.shape()[2].size; ++s) {
                        sum += out.weights(b, h, t, s);
                        if (!in.mask.may_attend(b, h, t, s)) {
                            ASSERT_EQ(out.weights(b, h, t, s), 0);
                        }
                    }
                    const bool masked = in.mask.row_fully_masked(b, h, t);
                    ASSERT_TRUE(std::abs(sum - (masked ? 0 : 1)) <= (masked ? 0 : 1e-6)) << sum;
                    for (std::int64_t d = 0; masked && d < 5; ++d) ASSERT_EQ(out.context(b, h, t, d), 0);
                    for (std::int64_t d = 0; masked && d < 3; ++d) ASSERT_EQ(out.dq(b, h, t, d), 0);
                }
    }
}

TYPED_TEST(NumericEdges, ANanQueryStaysInItsRowAndInTheKeysItSees) {
    for (const auto& in : this->cases()) {
        const auto clean = this->run(in);
        const std::int64_t rows = in.q.shape()[2].size;
        for (const std::int64_t bad : {std::int64_t{0}, rows / 2, rows - 1}) {
            auto bitten = in;
            bitten.q(1, 0, bad, 1) = static_cast<typename TypeParam::Scalar>(kInf) * 0;
            bitten.dcontext(1, 0, bad, 0) = static_cast<typename TypeParam::Scalar>(kInf);
            const auto out = this->run(bitten);
            this->for_cells(in, [&](auto b, auto h, auto t, auto s) {
                const bool hit = b == 1 && h == 0 && t == bad, sees = hit && in.mask.may_attend(b, h, t, s);
                ASSERT_TRUE(sees ? std::isnan(out.weights(b, h, t, s)) : out.weights(b, h, t, s) == clean.weights(b, h, t, s));
                const bool key_hit = b == 1 && h == 0 && in.mask.may_attend(b, h, bad, s);
                ASSERT_TRUE(key_hit ? this->all_nan(out.dk, b, h, s) : this->same_row(out.dk, clean.dk, b, h, s)) << "dk of key " << s;
                ASSERT_TRUE(key_hit ? this->all_nan(out.dv, b, h, s) : this->same_row(out.dv, clean.dv, b, h, s)) << "dv of key " << s;
                if (hit && !in.mask.row_fully_masked(b, h, t)) {
                    ASSERT_TRUE(this->all_nan(out.context, b, h, t) && this->all_nan(out.dq, b, h, t));
                } else {
                    ASSERT_TRUE(this->same_row(out.context, clean.context, b, h, t));
                    ASSERT_TRUE(this->same_row(out.dq, clean.dq, b, h, t));
                }
            });
        }
    }
}

TYPED_TEST(NumericEdges, AForbiddenKeyOrValueThatIsNotFiniteHasNoEffect) {
    using Real = typename TypeParam::Scalar;
    for (const auto& in : this->cases()) {
        const auto clean = this->run(in);
        const std::int64_t keys = in.k.shape()[2].size;
        for (const double value : {std::nan(""), kInf, -kInf})
            for (const std::int64_t bad : {std::int64_t{0}, keys / 2, keys - 1}) {
                auto bitten = in;
                bitten.k(1, 1, bad, 2) = bitten.v(1, 1, bad, 3) = static_cast<Real>(value);
                const auto out = this->run(bitten);
                this->for_cells(in, [&](auto b, auto h, auto t, auto s) {
                    if (b == 1 && h == 1 && in.mask.may_attend(b, h, t, bad)) return;
                    ASSERT_EQ(out.weights(b, h, t, s), clean.weights(b, h, t, s)) << "T " << t << " S " << s << " bad key " << bad;
                    ASSERT_TRUE(this->same_row(out.context, clean.context, b, h, t)) << "query " << t << " bad key " << bad;
                    ASSERT_TRUE(this->same_row(out.dq, clean.dq, b, h, t)) << "query " << t << " bad key " << bad;
                });
                bool seen = false;
                for (std::int64_t t = 0; t < in.q.shape()[2].size; ++t) seen = seen || in.mask.may_attend(1, 1, t, bad);
                if (seen) continue;
                ASSERT_EQ(std::memcmp(out.dk.data(), clean.dk.data(), static_cast<std::size_t>(out.dk.size()) * sizeof(Real)), 0);
                ASSERT_EQ(std::memcmp(out.dv.data(), clean.dv.data(), static_cast<std::size_t>(out.dv.size()) * sizeof(Real)), 0);
            }
    }
}

TYPED_TEST(NumericEdges, AScoreOfMinusInfinityWeighsNothing) {
    using Real = typename TypeParam::Scalar;
    const double huge = std::sqrt(static_cast<double>(std::numeric_limits<Real>::max())) * 4;
    auto in = this->draw(1, 1, 2, 4, 2, 3, Mask(2, 4));
    in.q(0, 0, 0, 0) = static_cast<Real>(huge);
    in.k(0, 0, 2, 0) = static_cast<Real>(-huge);  // their product overflows
    for (const std::int64_t s : {0, 1, 3}) in.k(0, 0, s, 0) = 0;
    const auto out = this->run(in);
    EXPECT_EQ(out.weights(0, 0, 0, 2), 0);
    EXPECT_TRUE(std::abs(out.weights(0, 0, 0, 0) + out.weights(0, 0, 0, 1) + out.weights(0, 0, 0, 3) - 1) <= 4 * this->kEps);
    EXPECT_TRUE(this->all_finite(out));
    // For a whole row, the rule for masked rows applies.
    for (std::int64_t s = 0; s < 4; ++s) in.k(0, 0, s, 0) = static_cast<Real>(-huge);
    const auto none = this->run(in);
    for (std::int64_t s = 0; s < 4; ++s) EXPECT_EQ(none.weights(0, 0, 0, s), 0);
    for (std::int64_t d = 0; d < 3; ++d) EXPECT_EQ(none.context(0, 0, 0, d), 0);
    for (std::int64_t d = 0; d < 2; ++d) EXPECT_EQ(none.dq(0, 0, 0, d), 0);
}

/// Also if large finite numbers overflow in the product.
TYPED_TEST(NumericEdges, AScoreOfPlusInfinityMakesItsRowNanNotOneHot) {
    using Real = typename TypeParam::Scalar;
    auto in = this->draw(1, 1, 3, 4, 64, 3, Mask(3, 4));
    const auto clean = this->run(in);
    const auto huge = static_cast<Real>(sizeof(Real) == 4 ? 1e19 : 1e160);
    for (std::int64_t d = 0; d < 64; ++d) in.q(0, 0, 1, d) = huge;
    auto overflowing = in;
    for (std::int64_t d = 0; d < 64; ++d) overflowing.k(0, 0, 2, d) = huge;
    const auto out = this->run(overflowing);
    EXPECT_TRUE(this->all_nan(out.weights, 0, 0, 1) && this->all_nan(out.context, 0, 0, 1) && this->all_nan(out.dq, 0, 0, 1));
    auto masked = overflowing;
    masked.mask.forbid(1, 2);
    const auto shielded = this->run(masked);
    EXPECT_FALSE(std::isnan(shielded.weights(0, 0, 1, 0)));
    EXPECT_EQ(shielded.weights(0, 0, 1, 2), 0);
    for (const std::int64_t t : {0, 2}) EXPECT_FALSE(std::isnan(out.weights(0, 0, t, 0))) << "other rows are untouched";
    EXPECT_TRUE(this->all_finite(clean));
}

TYPED_TEST(NumericEdges, AFiniteMaskOfAWholeRowIsUniform) {
    using Real = typename TypeParam::Scalar;
    const std::int64_t s = 7;
    const double lowest = -static_cast<double>(std::numeric_limits<Real>::max());
    for (const double bias : {lowest, sizeof(Real) == 4 ? -1e9 : -1e19}) {
        std::vector<double> values(static_cast<std::size_t>(2 * s));
        std::fill(values.begin(), values.begin() + s, bias);
        const auto out = this->run(this->draw(1, 1, 2, s, 3, 3, Mask::from_additive({2, s}, values, {1, 1, 2, s})));
        for (std::int64_t key = 0; key < s; ++key)
            EXPECT_TRUE(std::abs(out.weights(0, 0, 0, key) - 1.0 / static_cast<double>(s)) <= this->kEps) << bias;
        EXPECT_TRUE(this->all_finite(out));
    }
    // Where score plus bias gives -inf, the cell counts as masked.
    auto in = this->with_scores({{lowest, lowest, 0}, {lowest, lowest, lowest}});
    in.mask = Mask::from_additive({2, 3}, {lowest, lowest, 0, lowest, lowest, lowest}, {1, 1, 2, 3});
    const auto out = this->run(in);
    EXPECT_TRUE(out.weights(0, 0, 0, 0) == 0 && out.weights(0, 0, 0, 1) == 0 && out.weights(0, 0, 0, 2) == 1);
    for (std::int64_t key = 0; key < 3; ++key) EXPECT_EQ(out.weights(0, 0, 1, key), 0);
    for (std::int64_t d = 0; d < 3; ++d) EXPECT_EQ(out.context(0, 0, 1, d), 0);
}

TYPED_TEST(NumericEdges, LargeScoresGiveAnExactOneHotRow) {
    const double huge = sizeof(typename TypeParam::Scalar) == 4 ? 1e38 : 1e308;
    for (const double size : {1e4, huge}) {
        const auto out = this->run(this->with_scores({{0, size, -size, size / 2}}));
        for (std::int64_t s = 0; s < 4; ++s) EXPECT_EQ(out.weights(0, 0, 0, s), s == 1);
        EXPECT_TRUE(this->all_finite(out));
        EXPECT_TRUE(this->all_zero(out.dq.values())) << "a saturated softmax passes no gradient";
    }
}

TYPED_TEST(NumericEdges, ShiftingAllScoresOfARowChangesNothing) {
    const auto shifted_weights = [&](const std::vector<double>& scores, double shift) {
        std::vector<double> moved;
        for (const double score : scores) moved.push_back(score + shift);
        return this->run(this->with_scores({moved})).weights;
    };
    std::vector<double> whole, broken;
    for (int i = 0; i < 19; ++i) {
        whole.push_back(static_cast<int>(this->random_() % 41) - 20);
        broken.push_back(whole.back() + 0.137 * i);
    }
    const auto at_zero = shifted_weights(whole, 0), broken_at_zero = shifted_weights(broken, 0);
    for (const double shift : {1.0, -77.0, 4096.0, 16777216.0 - 40}) {
        EXPECT_TRUE(this->same_row(at_zero, shifted_weights(whole, shift), 0, 0, 0)) << shift;
        const auto moved = shifted_weights(broken, shift);
        for (std::int64_t s = 0; s < 19; ++s)
            EXPECT_TRUE(std::abs(moved(0, 0, 0, s) - broken_at_zero(0, 0, 0, s)) <= 4 * this->kEps * (1 + std::abs(shift))) << shift;
    }
}

TYPED_TEST(NumericEdges, OneKeyHasWeightOneAndPassesNoGradientToTheScores) {
    for (const std::int64_t d : {1, 3, 16}) {
        const auto in = this->draw(2, 2, 1, 1, d, 5, Mask::causal(1, 1));
        const auto out = this->run(in);
        for (const auto weight : out.weights.values()) EXPECT_EQ(weight, 1);
        for (std::int64_t i = 0; i < in.v.size(); ++i) EXPECT_EQ(out.context.data()[i], in.v.data()[i]);
        for (std::int64_t i = 0; i < in.v.size(); ++i) EXPECT_EQ(out.dv.data()[i], in.dcontext.data()[i]);
        EXPECT_TRUE(this->all_zero(out.dq.values()) && this->all_zero(out.dk.values()));
    }
}

TYPED_TEST(NumericEdges, HeadsOfSizeOneWorkAndOfSizeZeroAreRefused) {
    auto in = this->draw(1, 1, 2, 2, 1, 1, Mask(2, 2));
    in.q(0, 0, 0, 0) = 2, in.k(0, 0, 0, 0) = 1, in.k(0, 0, 1, 0) = 0;
    const auto out = this->run(in);
    EXPECT_TRUE(std::abs(out.weights(0, 0, 0, 0) - 1 / (1 + std::exp(-2.0))) <= 4 * this->kEps);
    EXPECT_TRUE(this->all_finite(out));
    EXPECT_THROW(this->run(this->draw(1, 1, 2, 2, 0, 3, Mask(2, 2))), ShapeError);
}

TYPED_TEST(NumericEdges, EmptyShapesGiveEmptyOrZeroResults) {
    for (const auto& [b, t, s] : {std::array<std::int64_t, 3>{0, 3, 4}, {2, 0, 4}, {2, 3, 0}, {0, 0, 0}}) {
        for (const Mask& mask : {Mask(t, s), Mask::causal(t, s)}) {
            const auto out = this->run(this->draw(b, 2, t, s, 3, 5, mask));
            EXPECT_EQ(out.weights.shape().text(), (Shape{{Axis::B, b}, {Axis::H, 2}, {Axis::T, t}, {Axis::S, s}}.text()));
            EXPECT_EQ(out.context.size(), b * 2 * t * 5);
            EXPECT_TRUE(s > 0 || this->all_zero(out.context.values())) << "nothing to attend to";
            EXPECT_TRUE(s > 0 || this->all_zero(out.dq.values()));
            EXPECT_TRUE(t > 0 || (this->all_zero(out.dk.values()) && this->all_zero(out.dv.values())));
        }
    }
}

TYPED_TEST(NumericEdges, CausalAndAnotherMaskBothHold) {
    for (const auto& [t, s] : {std::array<std::int64_t, 2>{6, 6}, {4, 9}, {9, 4}}) {
        const Mask both = Mask::causal(t, s).combined_with(Mask::padding({s, s - 2}, t, s));
        const auto out = this->run(this->draw(2, 2, t, s, 3, 5, both));
        for (std::int64_t b = 0; b < 2; ++b)
            for (std::int64_t i = 0; i < t; ++i)
                for (std::int64_t j = 0; j < s; ++j)
                    EXPECT_EQ(out.weights(b, 0, i, j) > 0, j <= i && (b == 0 || j < s - 2)) << "aligned at the top left";
    }
}

TYPED_TEST(NumericEdges, DropoutOfNothingIsTheIdentityAndOfEverythingIsZero) {
    auto in = this->draw(2, 2, 50, 20, 3, 5, Mask::causal(50, 20));
    const auto plain = this->run(in);
    in.dropout = DropoutPattern(0, 9, {Stage::Dropped, 0});
    const auto none = this->run(in);
    for (const auto member : {&AttentionResult<typename TypeParam::Scalar>::weights, &AttentionResult<typename TypeParam::Scalar>::dropped,
                              &AttentionResult<typename TypeParam::Scalar>::context, &AttentionResult<typename TypeParam::Scalar>::dq,
                              &AttentionResult<typename TypeParam::Scalar>::dk, &AttentionResult<typename TypeParam::Scalar>::dv}) {
        const auto &a = plain.*member, &b = none.*member;
        EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof *a.data()), 0);
    }
    in.dropout = DropoutPattern(1, 9, {Stage::Dropped, 0});
    const auto all = this->run(in);
    EXPECT_EQ(
        std::memcmp(all.weights.data(), plain.weights.data(), static_cast<std::size_t>(all.weights.size()) * sizeof *all.weights.data()), 0)
        << "weights are recorded before dropout";
    for (const auto* tensor : {&all.dropped, &all.context, &all.dq, &all.dk, &all.dv}) EXPECT_TRUE(this->all_zero(tensor->values()));
    for (const double bad : {-1e-9, 1.0000001, std::nan("")}) EXPECT_THROW(DropoutPattern(bad, 0, {}), ConfigError);
}

/// Long rows: the sums are near 1, and at most twice as far from exact arithmetic as plain loops in the same precision.
TYPED_TEST(NumericEdges, RowsOfFourThousandKeysStayAccurate) {
    using Real = typename TypeParam::Scalar;
    const std::int64_t s = 4096, d = 8;
    const auto in = this->draw(1, 1, 4, s, d, d, Mask(4, s));
    const auto out = this->run(in);
    const auto plain = [&]<class Number>(std::int64_t t, Number, std::vector<double>& context) {
        std::vector<Number> score(static_cast<std::size_t>(s));
        Number top = -std::numeric_limits<Number>::infinity(), sum = 0;
        for (std::int64_t key = 0; key < s; ++key) {
            Number x = 0;
            for (std::int64_t i = 0; i < d; ++i) x += static_cast<Number>(in.q(0, 0, t, i)) * static_cast<Number>(in.k(0, 0, key, i));
            score[static_cast<std::size_t>(key)] = x * static_cast<Number>(in.factor);
            top = std::max(top, score[static_cast<std::size_t>(key)]);
        }
        for (Number& x : score) sum += x = std::exp(x - top);
        for (std::int64_t i = 0; i < d; ++i) {
            Number y = 0;
            for (std::int64_t key = 0; key < s; ++key)
                y += score[static_cast<std::size_t>(key)] / sum * static_cast<Number>(in.v(0, 0, key, i));
            context.push_back(static_cast<double>(y));
        }
    };
    double ours = 0, naive = 0;
    for (std::int64_t t = 0; t < 4; ++t) {
        double sum = 0;
        for (std::int64_t key = 0; key < s; ++key) sum += out.weights(0, 0, t, key);
        EXPECT_TRUE(std::abs(sum - 1) <= 1e-6) << sum;
        std::vector<double> exact, same_precision;
        plain(t, 0.0L, exact);
        plain(t, Real{}, same_precision);
        for (std::int64_t i = 0; i < d; ++i) {
            const auto at = static_cast<std::size_t>(i);
            ours = std::max(ours, std::abs(static_cast<double>(out.context(0, 0, t, i)) - exact[at]));
            naive = std::max(naive, std::abs(same_precision[at] - exact[at]));
        }
    }
    EXPECT_TRUE(ours <= 2 * naive) << ours << " against " << naive;
    EXPECT_GT(naive, 0) << "the comparison sees rounding";
}

}  // namespace
}  // namespace attn::test
