#include "engine/train/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace attn {
namespace {

Schedule with_total(Schedule schedule, std::int64_t total) {
    schedule.total_steps = total;
    return schedule;
}

TEST(ContinuedSchedule, ARunAtItsEndGoesOnWithoutAJumpAndEndsLikeAnyOther) {
    for (const ScheduleKind kind : {ScheduleKind::Linear, ScheduleKind::Cosine})
        for (const std::int64_t warm_up : {0, 20})
            for (const std::int64_t left : {1, 7, 163, 5000}) {
                SCOPED_TRACE(left);
                const Schedule before{kind, 3e-3, 0, warm_up, 137};
                const std::int64_t total = 137 + left;
                const Schedule after = continued_schedule(before, with_total(before, total), 137);
                const Schedule uninterrupted = with_total(before, total);
                ASSERT_EQ(learning_rate(before, 137), 0) << "what a resumed run used to train with";
                const std::int64_t joined = 137 + left / 10;
                for (std::int64_t step = 137; step < total; ++step) {
                    EXPECT_GT(learning_rate(after, step), 0) << step;
                    EXPECT_LE(learning_rate(after, step), learning_rate(uninterrupted, step)) << step;
                    if (step >= joined) {
                        EXPECT_EQ(learning_rate(after, step), learning_rate(uninterrupted, step)) << step;
                    }
                }
                // The rate rises evenly over the first tenth of the remaining steps.
                if (left >= 10) {
                    EXPECT_LT(learning_rate(after, 137), 2 * learning_rate(uninterrupted, 137) / static_cast<double>(left / 10));
                }
                EXPECT_EQ(learning_rate(after, total), 0);
            }
}

TEST(ContinuedSchedule, InTheMiddleTheRateGoesOnFromWhereItStood) {
    const Schedule before{ScheduleKind::Cosine, 1e-2, 1e-4, 10, 100};
    for (const std::int64_t total : {60, 200, 1000}) {
        const Schedule after = continued_schedule(before, with_total(before, total), 50);
        const double stood = learning_rate(before, 50), joins = learning_rate(after, 50 + (total - 50) / 10);
        const auto [low, high] = std::minmax(stood, joins);
        for (std::int64_t step = 50; step < 50 + (total - 50) / 10; ++step) {
            EXPECT_GE(learning_rate(after, step), 0.9 * low) << step;
            EXPECT_LE(learning_rate(after, step), 1.1 * high) << step;
        }
        EXPECT_NEAR(learning_rate(after, total), 1e-4, 1e-15);
    }
}

TEST(ContinuedSchedule, WhereTheCurvesAgreeNothingIsChanged) {
    const Schedule constant{ScheduleKind::Constant, 1e-3, 0, 10, 50}, warm{ScheduleKind::Cosine, 1e-3, 0, 30, 20};
    EXPECT_EQ(continued_schedule(constant, with_total(constant, 90), 40), with_total(constant, 90));
    EXPECT_EQ(continued_schedule(warm, with_total(warm, 90), 20), with_total(warm, 90)) << "still warming up";
    const Schedule cosine{ScheduleKind::Cosine, 1e-3, 0, 0, 50};
    Schedule faster = cosine;
    faster.rate = 5e-3;
    EXPECT_EQ(continued_schedule(cosine, faster, 20), faster) << "another rate is taken as it is set";
}

TEST(ContinuedSchedule, RemembersItsStart) {
    const Schedule before{ScheduleKind::Linear, 1e-2, 0, 0, 100};
    const Schedule once = continued_schedule(before, with_total(before, 200), 100);
    ASSERT_TRUE(once.continued);
    EXPECT_EQ(*once.continued, (Continuation{100, 0}));
    // Asking for the same total again, without knowledge of the continuation, changes nothing.
    EXPECT_EQ(continued_schedule(once, with_total(before, 200), 100), once);
    EXPECT_EQ(continued_schedule(once, with_total(before, 200), 150), once);
    // A slider passes through many totals before the next step, and comes back.
    EXPECT_EQ(continued_schedule(once, with_total(before, 400), 100).continued, (Continuation{100, 0}));
    EXPECT_EQ(continued_schedule(once, before, 100), before);
    const Schedule twice = continued_schedule(once, with_total(before, 400), 105);
    EXPECT_EQ(*twice.continued, (Continuation{105, learning_rate(once, 105)})) << "from the rate in the midst of the rise";
}

TEST(TurningRates, AreAllZeroExactlyWhenAllRatesAre) {
    std::mt19937 random(3);
    const auto below = [&](int n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
    int zero = 0;
    for (int i = 0; i < 4000; ++i) {
        Schedule schedule{static_cast<ScheduleKind>(below(3)), below(3) == 0 ? 0.0 : 0.1, below(2) == 0 ? 0.0 : 0.01, below(12), below(30)};
        const std::int64_t first = below(40), last = first + below(30);
        // A run is never before the step at which it was continued.
        if (below(2) == 0) schedule.continued = Continuation{below(static_cast<int>(first) + 1), below(2) == 0 ? 0.0 : 0.05};
        bool all = true;
        for (std::int64_t step = first; step < last; ++step) all = all && learning_rate(schedule, step) == 0;
        const std::vector<RateAt> rates = turning_rates(schedule, first, last);
        EXPECT_EQ(rates.empty(), first == last);
        if (rates.empty()) continue;
        EXPECT_EQ(rates.front().step, first);
        EXPECT_EQ(rates.back().step, last - 1);
        for (const RateAt& at : rates) EXPECT_EQ(at.rate, learning_rate(schedule, at.step));
        EXPECT_EQ(std::all_of(rates.begin(), rates.end(), [](const RateAt& at) { return at.rate == 0; }), all) << i;
        zero += all ? 1 : 0;
    }
    EXPECT_GT(zero, 100);
}

}  // namespace
}  // namespace attn
