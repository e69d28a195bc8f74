/// Curves of long runs: how many points are kept, which ones, and that they are measured values.

#include "engine/train/long_curve.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "engine/tensor/random.hpp"
#include "engine/train/curve_csv.hpp"

namespace attn {
namespace {

/// A value for every step that no average of several steps can reproduce.
double loss_of(std::int64_t step) { return CounterRandom(7, 0).uniform(static_cast<std::uint64_t>(step)); }

LossPoint measured(std::int64_t step) {
    return {.step = step, .loss = loss_of(step), .accuracy = loss_of(-step), .seconds = static_cast<double>(step), .tokens = 3 * step};
}

/// "" if the curve is a valid thinning of `steps` points, otherwise what is wrong.
std::string fault_of(const std::vector<LossPoint>& curve, std::int64_t steps) {
    const auto newer = static_cast<std::int64_t>(kMostCurvePoints / 2);
    if (curve.size() > kMostCurvePoints) return "too many points";
    if (curve.empty() || curve.front().step != 1) return "the first step is missing";
    for (const LossPoint& point : curve)
        if (!(point == measured(point.step))) return "step " + std::to_string(point.step) + " is not what was measured";
    for (std::size_t i = 1; i < curve.size(); ++i) {
        const std::int64_t before = curve[i - 1].step, gap = curve[i].step - before;
        if (gap <= 0) return "steps do not ascend";
        if (before > steps - newer && gap != 1) return "one of the newest steps is missing";
        // On any axis, gaps are at most a hundredth of the position or a ten-thousandth of the whole.
        if (gap > 1 && gap * 100 > curve[i].step) return "a gap at the beginning";
        if (gap > 1 && gap * 10'000 > 2 * steps) return "a gap";
    }
    return curve.back().step == steps ? "" : "the newest step is missing";
}

TEST(LongCurve, BelowTheBoundEveryPointStays) {
    std::vector<LossPoint> curve;
    for (std::int64_t step = 1; step <= static_cast<std::int64_t>(kMostCurvePoints); ++step) add_point(curve, measured(step));
    EXPECT_EQ(curve.size(), kMostCurvePoints);
    EXPECT_EQ(fault_of(curve, static_cast<std::int64_t>(kMostCurvePoints)), "");
}

TEST(LongCurve, StaysWithinBoundsHoweverLongTheRun) {
    std::vector<LossPoint> curve;
    std::size_t most = 0;
    for (std::int64_t step = 1; step <= 1'500'000; ++step) {
        add_point(curve, measured(step));
        most = std::max(most, curve.size());
        if (step % 70'001 == 0 || step == static_cast<std::int64_t>(kMostCurvePoints) + 1) {
            ASSERT_EQ(fault_of(curve, step), "") << step;
        }
    }
    EXPECT_EQ(most, kMostCurvePoints);
    EXPECT_EQ(fault_of(curve, 1'500'000), "");
}

TEST(LongCurve, TheCheckFindsWhatIsWrong) {
    std::vector<LossPoint> curve;
    constexpr std::int64_t kSteps = 400'000;
    for (std::int64_t step = 1; step <= kSteps; ++step) add_point(curve, measured(step));
    ASSERT_EQ(fault_of(curve, kSteps), "");
    const auto without = [&](std::size_t first, std::size_t count) {
        std::vector<LossPoint> other = curve;
        other.erase(other.begin() + static_cast<std::ptrdiff_t>(first), other.begin() + static_cast<std::ptrdiff_t>(first + count));
        return fault_of(other, kSteps);
    };
    EXPECT_EQ(without(0, 1), "the first step is missing");
    EXPECT_EQ(without(100, 2), "a gap at the beginning");
    EXPECT_EQ(without(5'000, 6), "a gap");
    EXPECT_EQ(without(curve.size() - 40'000, 1), "one of the newest steps is missing");
    EXPECT_EQ(without(curve.size() - 1, 1), "the newest step is missing");
    std::vector<LossPoint> averaged = curve;
    averaged[10].loss = (curve[10].loss + curve[11].loss) / 2;
    EXPECT_EQ(fault_of(averaged, kSteps), "step 11 is not what was measured");
    averaged = curve;
    averaged.insert(averaged.end(), kMostCurvePoints, averaged.back());
    EXPECT_EQ(fault_of(averaged, kSteps), "too many points");
}

TEST(LongCurve, ARunThatIsSavedAndTakenUpKeepsTheSamePoints) {
    std::vector<LossPoint> whole, interrupted;
    for (std::int64_t step = 1; step <= 300'000; ++step) {
        add_point(whole, measured(step));
        add_point(interrupted, measured(step));
        if (step % 99'991 == 0) interrupted = curves_from_csv(curves_csv(interrupted, {}), "curves.csv").losses;
    }
    EXPECT_TRUE(whole == interrupted);
}

TEST(LongCurve, ALongerTableIsThinnedOutWithTheNextStep) {
    std::vector<LossPoint> curve;
    for (std::int64_t step = 1; step <= 700'000; ++step) curve.push_back(measured(step));
    add_point(curve, measured(700'001));
    EXPECT_LE(curve.size(), kMostCurvePoints * 3 / 4 + 1);
    EXPECT_EQ(fault_of(curve, 700'001), "");
}

TEST(LongCurve, EvaluationsAtAnyStepsStayWithinBounds) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        const CounterRandom random(seed, 0);
        // Only odd steps, round numbers, or irregular steps of the largest possible size.
        const auto apart = static_cast<std::int64_t>(seed == 1 ? 2 : seed == 2 ? 1'000 : seed == 3 ? INT64_C(1) << 43 : 0);
        std::vector<ValidationPoint> curve;
        std::int64_t step = 1;
        for (std::uint64_t i = 0; i < 150'000; ++i) {
            add_point(curve, {step, loss_of(step), 0.5, {{1, static_cast<double>(i)}}});
            ASSERT_LE(curve.size(), kMostCurvePoints);
            step += apart != 0 ? apart : 1 + static_cast<std::int64_t>(random.bits(i) % (INT64_C(1) << (10 * seed - 30)));
        }
        EXPECT_GT(curve.size(), kMostCurvePoints / 2);
        EXPECT_EQ(curve.front().step, 1);
        for (std::size_t i = 1; i < curve.size(); ++i) {
            ASSERT_LT(curve[i - 1].step, curve[i].step);
            ASSERT_EQ(curve[i].loss, loss_of(curve[i].step));
            ASSERT_EQ(curve[i].by_length.size(), 1U);
        }
    }
}

TEST(LongCurve, ManyHeadsHaveFewerEvaluationsButNeverTooFew) {
    for (const std::size_t heads : {1U, 8U, 144U}) {
        const std::size_t most = std::max(kMostCurvePoints / heads, kFewestHeadPoints);
        std::vector<HeadPoint> curve;
        for (std::int64_t step = 0; step < 3 * static_cast<std::int64_t>(most); ++step) {
            HeadPoint point{step, std::vector<HeadScore>(heads)};
            point.scores.back().entropy = loss_of(step);
            add_point(curve, std::move(point));
            ASSERT_LE(curve.size(), most);
        }
        EXPECT_GT(curve.size(), most / 2);
        EXPECT_EQ(curve.front().step, 0);
        for (const HeadPoint& point : curve) ASSERT_EQ(point.scores.at(heads - 1).entropy, loss_of(point.step));
    }
}

}  // namespace
}  // namespace attn
