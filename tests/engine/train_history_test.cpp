#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/tensor/error.hpp"
#include "engine/tensor/random.hpp"
#include "engine/train/history.hpp"
#include "engine/train/moment_steps.hpp"

namespace attn {
namespace {

Config tiny() {
    Config config;
    config.vocab_size = 3;
    config.context_length = 2;
    config.d_model = 4;
    config.num_heads = 1;
    config.num_layers = 1;
    config.d_ff = 4;
    return config;
}

const std::size_t kOne = static_cast<std::size_t>(Parameters<float>(tiny()).count()) * sizeof(float);

Moment moment(std::int64_t step) { return {step, std::make_shared<const Parameters<float>>(tiny())}; }

std::vector<std::int64_t> steps_of(const History& history) {
    std::vector<std::int64_t> steps;
    for (const Moment& m : history.moments()) steps.push_back(m.step);
    return steps;
}

TEST(TrainHistory, KeepsEveryStepWhileThereIsRoom) {
    History history(5 * kOne);
    EXPECT_TRUE(history.moments().empty());
    for (std::int64_t step = 0; step < 5; ++step) {
        EXPECT_TRUE(history.wants(step));
        history.add(moment(step));
    }
    EXPECT_THAT(steps_of(history), testing::ElementsAre(0, 1, 2, 3, 4));
    EXPECT_EQ(history.bytes(), 5 * kOne);
    history.add(moment(5));
    EXPECT_THAT(steps_of(history), testing::ElementsAre(0, 2, 4, 5)) << "every other one goes, the first and the newest stay";
    EXPECT_EQ(history.spacing(), 2);
    EXPECT_FALSE(history.wants(7));
    EXPECT_TRUE(history.wants(8));
}

TEST(TrainHistory, StaysWithinItsBudgetForRunsOfAnyKind) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        const CounterRandom random(seed, 0);
        const std::size_t room = 2 + random.bits(0) % 9;
        History history(room * kOne + random.bits(1) % kOne);
        std::vector<Moment> all;
        std::int64_t step = static_cast<std::int64_t>(random.bits(2) % 50);
        for (std::uint64_t i = 0; i < 120; ++i) {
            all.push_back(moment(step));
            history.add(all.back());
            ASSERT_LE(history.bytes(), history.budget());
            ASSERT_EQ(history.moments().front().step, all.front().step);
            ASSERT_EQ(history.moments().back().step, step);
            ASSERT_EQ(history.bytes(), history.moments().size() * kOne);
            const std::vector<std::int64_t> steps = steps_of(history);
            for (std::size_t k = 1; k < steps.size(); ++k) {
                ASSERT_LT(steps[k - 1], steps[k]);
                if (k + 1 < steps.size()) {
                    ASSERT_EQ(steps[k] % history.spacing(), 0);
                }
            }
            ASSERT_EQ(history.moments().back().parameters, all.back().parameters) << "the very numbers that were given";
            step += 1 + static_cast<std::int64_t>(random.bits(10 + i) % 4);
        }
    }
}

TEST(TrainHistory, WantsWhatWillStay) {
    History history(6 * kOne);
    history.add(moment(0));
    for (std::int64_t step = 1; step < 300; ++step) {
        const bool wanted = history.wants(step);
        History tried = history;
        tried.add(moment(step));
        tried.add(moment(step + 1));
        const std::vector<std::int64_t> steps = steps_of(tried);
        // Another moment may be one too many for this spacing: unwanted moments are never kept, and kept ones were wanted.
        if (std::find(steps.begin(), steps.end(), step) != steps.end()) {
            ASSERT_TRUE(wanted) << step;
        }
        if (wanted) history.add(moment(step));
        ASSERT_GE(history.moments().size(), step >= 6 ? 3U : 1U);
    }
}

/// The result of wants(), computed by counting which moments would be kept.
bool wanted_by_count(const History& history, std::int64_t step) {
    const std::vector<std::int64_t> steps = steps_of(history);
    for (std::int64_t spacing = history.spacing();; spacing *= 2) {
        std::size_t staying = 0;
        for (const std::int64_t kept : steps) staying += kept % spacing == 0 || kept == steps.front() ? 1 : 0;
        if (staying <= 1 || (staying + 1) * kOne <= history.budget()) return step % spacing == 0;
    }
}

TEST(TrainHistory, WantsAndWeighsAsACountOfAllMomentsSays) {
    std::size_t wanted = 0, refused = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const CounterRandom random(seed, 0);
        History history((2 + random.bits(0) % 12) * kOne);
        history.add(moment(static_cast<std::int64_t>(random.bits(1) % 3)));
        for (std::int64_t step = 4; step < 200; ++step) {
            const auto index = static_cast<std::uint64_t>(10 * step);
            ASSERT_EQ(history.wants(step), wanted_by_count(history, step)) << "seed " << seed << ", step " << step;
            ++(history.wants(step) ? wanted : refused);
            // Unwanted moments are added too, such as the newest parameters for display.
            if (history.wants(step) || random.bits(index) % 4 == 0) history.add(moment(step));
            if (random.bits(index + 1) % 40 == 0) history.limit((2 + random.bits(index + 2) % 12) * kOne);
            ASSERT_EQ(history.bytes(), history.moments().size() * kOne);
            const History copy = history;
            ASSERT_EQ(copy.bytes(), history.bytes());
        }
    }
    EXPECT_GT(wanted, 100U);
    EXPECT_GT(refused, 100U);
}

TEST(TrainHistory, KeepsWhatIsHeldAndTakesBackWhatWasDropped) {
    History history(5 * kOne);
    std::vector<Moment> all;
    const auto go_on = [&](std::int64_t end) {
        for (std::int64_t step = static_cast<std::int64_t>(all.size()); step <= end; ++step) {
            all.push_back(moment(step));
            if (history.wants(step)) history.add(all.back());
        }
    };
    go_on(4);
    history.hold(std::vector{all[3]});
    go_on(40);
    EXPECT_THAT(steps_of(history), testing::ElementsAre(0, 3, 16, 32));
    EXPECT_EQ(history.moments()[1].parameters, all[3].parameters) << "the very numbers";
    history.hold(std::vector{all[3], all[7], Moment{1000, all[7].parameters}, Moment{9, nullptr}});
    EXPECT_THAT(steps_of(history), testing::ElementsAre(0, 3, 7, 16, 32)) << "no step that the run has not made";
    EXPECT_EQ(history.moments()[2].parameters, all[7].parameters);
    EXPECT_EQ(history.bytes(), history.moments().size() * kOne);
    history.hold(std::vector{all[32]});
    EXPECT_THAT(steps_of(history), testing::ElementsAre(0, 16, 32)) << "what nobody names any more";
    go_on(200);
    EXPECT_LE(history.bytes(), history.budget());
}

TEST(TrainHistory, HoldsMoreThanItsBudgetAndGoesOn) {
    History history(4 * kOne);
    std::vector<Moment> held;
    for (std::int64_t step = 0; step < 60; ++step) {
        const Moment next = moment(step);
        if (history.wants(step) || step % 7 == 0) history.add(next);
        if (step % 7 != 0) continue;
        held.push_back(next);
        history.hold(held);
    }
    ASSERT_GE(held.size(), 3U);
    for (const Moment& one : held) {
        const std::vector<std::int64_t> steps = steps_of(history);
        EXPECT_NE(std::find(steps.begin(), steps.end(), one.step), steps.end()) << one.step;
    }
    EXPECT_LE(history.moments().size(), held.size() + 3) << "there is no room for more";
    history.hold({});
    EXPECT_LE(history.bytes(), history.budget());
}

TEST(TrainHistory, ALargerBudgetIsFilledWithEveryStepAgain) {
    History history(4 * kOne);
    for (std::int64_t step = 0; step <= 64; ++step)
        if (history.wants(step)) history.add(moment(step));
    const std::vector<std::int64_t> before = steps_of(history);
    ASSERT_GT(history.spacing(), 8);
    history.limit(8 * kOne);
    for (std::int64_t step = 65; step <= 67; ++step) {
        EXPECT_TRUE(history.wants(step)) << step;
        history.add(moment(step));
    }
    for (const std::int64_t step : before) {
        const std::vector<std::int64_t> steps = steps_of(history);
        EXPECT_NE(std::find(steps.begin(), steps.end(), step), steps.end()) << step;
    }
}

TEST(TrainHistory, RefusesWhatIsOutOfOrder) {
    History history;
    history.add(moment(4));
    EXPECT_THROW(history.add(moment(4)), Error);
    EXPECT_THROW(history.add(moment(3)), Error);
    EXPECT_THROW(history.add({5, nullptr}), Error);
    EXPECT_THAT(steps_of(history), testing::ElementsAre(4));
}

/// Computes every distance.
std::size_t nearest_by_search(const std::vector<std::int64_t>& kept, std::int64_t step) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < kept.size(); ++i)
        if (std::abs(kept[i] - step) < std::abs(kept[best] - step)) best = i;
    return best;
}

TEST(Moments, TheNearestIsTheOneThatASearchFinds) {
    for (const std::vector<std::int64_t>& kept : {std::vector<std::int64_t>{7}, {0, 1, 2, 3}, {0, 26, 52, 78, 104, 600}, {5, 6, 16}})
        for (std::int64_t step = -3; step <= kept.back() + 30; ++step)
            ASSERT_EQ(nearest_moment(kept, step), nearest_by_search(kept, step)) << step;
    EXPECT_EQ(nearest_moment(std::vector<std::int64_t>{78, 104}, 91), 0U) << "of two equally near the earlier";
}

/// The message for a step that is not available; "" if it is.
std::string refusal(const std::vector<std::int64_t>& kept, std::int64_t steps, std::int64_t step) {
    try {
        named_moment(kept, steps, step);
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

TEST(Moments, AStepThatIsNamedIsTheNearestOrRefused) {
    const std::vector<std::int64_t> kept{0, 26, 52, 78, 104, 600};
    EXPECT_EQ(named_moment(kept, 600, 100), 104);
    EXPECT_EQ(named_moment(kept, 600, 78), 78);
    EXPECT_EQ(named_moment(kept, 600, 600), 600);
    EXPECT_EQ(named_moment(kept, 610, 605), 600) << "the newest parameters may be some steps old";
    EXPECT_EQ(named_moment(std::vector<std::int64_t>{600}, 600, 3), 600) << "a checkpoint alone";
    EXPECT_NE(refusal(kept, 600, 91).find("78 and 104"), std::string::npos) << refusal(kept, 600, 91);
    EXPECT_NE(refusal(kept, 600, 99999).find("has made 600 steps"), std::string::npos) << refusal(kept, 600, 99999);
    EXPECT_NE(refusal(kept, 600, -1), "");
    EXPECT_EQ(refusal(kept, 600, 90), "");
}

}  // namespace
}  // namespace attn
