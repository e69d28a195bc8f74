/// A moment of a run exists as long as something names it: no step ever shows the numbers of another, however the history is thinned out.

#include <gtest/gtest.h>

#include <algorithm>

#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "app/session/values/sample.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/model/transformer.hpp"
#include "engine/train/training_run.hpp"
#include "tests/support/fake_run.hpp"
#include "tests/support/trained_session.hpp"

namespace attn::app {
namespace {

class HeldMoments : public ::testing::Test {
protected:
    const RunStatus& run() const { return *session.training().status; }
    std::size_t one() const { return static_cast<std::size_t>(run().parameters->count()) * sizeof(float); }
    /// Makes room for so many moments of all runs.
    void make_room(std::size_t moments) {
        apply(session, command::SetHistoryBudget{static_cast<double>(moments * one()) / (1 << 20)});
        session.wait_for_training();
    }
    void train_to(std::int64_t steps) {
        train(session, small_run(steps));
        ASSERT_EQ(run().step, steps);
    }
    bool is_kept(std::int64_t step) const { return std::binary_search(run().moments.begin(), run().moments.end(), step); }
    void pin(bool b) {
        session.wait();
        apply(session, command::Pin{b, session.states().shown});
    }
    /// The parameters of a run that ends at the step.
    static std::shared_ptr<const Parameters<float>> parameters_at(std::int64_t step) {
        TrainingRun alone(small_run());
        while (alone.steps() < step) alone.step();
        return alone.keep().parameters;
    }
    /// Whether this is the model of exactly this step, with the weights that it computes for the tokens of the trace.
    static testing::AssertionResult is_step(const Snapshot* snapshot, std::int64_t step) {
        if (snapshot == nullptr || snapshot->trace == nullptr) return testing::AssertionFailure() << "nothing is shown";
        if (snapshot->trained_step != step) return testing::AssertionFailure() << "step " << snapshot->trained_step.value_or(-1);
        const Trace<float>& shown = *snapshot->trace;
        const auto expected = trace_forward<float>(parameters_at(step), shown.tokens, shown.source_tokens, shown.settings);
        const auto ours = shown.find({Stage::Weights, 1})->value.values(), theirs = expected.find({Stage::Weights, 1})->value.values();
        if (!same_numbers(*shown.parameters, *expected.parameters)) return testing::AssertionFailure() << "other parameters";
        if (!std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end())) return testing::AssertionFailure() << "other weights";
        return testing::AssertionSuccess();
    }
    std::shared_ptr<const Snapshot> of(const StateRef& state) {
        return state == nullptr ? nullptr : session.compute(state, facet::Trace{}).value;
    }
    void toggle_causal() {
        ForwardSettings forward = session.document().forward;
        forward.masks.causal = !forward.masks.causal;
        apply(session, command::SetForward{forward});
        session.wait();
    }

    Session session{open_preset(kDefaultPreset), no_wake};
};

TEST_F(HeldMoments, ShownPinnedAndComparedMomentsSurviveThinning) {
    train_to(12);
    apply(session, command::ShowMoment{3});
    pin(false);
    apply(session, command::ShowMoment{7});
    pin(true);
    apply(session, command::CompareMoment{9});
    apply(session, command::ShowMoment{5});
    session.wait();
    make_room(12);
    train_to(60);
    for (const std::int64_t step : {1, 2, 4, 6, 8, 10, 11}) ASSERT_FALSE(is_kept(step)) << "the history was to be thinned out: " << step;
    for (const std::int64_t step : {0, 3, 5, 7, 9, 60}) EXPECT_TRUE(is_kept(step)) << step;
    for (int times = 0; times < 2; ++times) {
        toggle_causal();
        EXPECT_EQ(session.document().trained->step, 5);
        EXPECT_TRUE(is_step(session.wait().get(), 5));
        EXPECT_TRUE(is_step(of(session.states().other_moment).get(), 9));
        EXPECT_TRUE(is_step(of(session.states().unmasked).get(), 5));
        EXPECT_TRUE(is_step(of(session.states().pinned_a).get(), 3));
        EXPECT_TRUE(is_step(of(session.states().pinned_b).get(), 7));
    }
    EXPECT_EQ(session.other_step(), 9);
    EXPECT_EQ(session.get(facet::Sample{})->trained_step, 5);
    EXPECT_FALSE(is_step(session.wait().get(), 6)) << "the comparison sees one step";
}

TEST_F(HeldMoments, WhatNobodyNamesAnyMoreGoesWhenThereIsNoRoom) {
    train_to(12);
    apply(session, command::ShowMoment{5});
    pin(false);
    make_room(12);
    train_to(60);
    ASSERT_TRUE(is_kept(5));
    apply(session, command::Pin{false, nullptr});
    apply(session, command::ShowMoment{std::nullopt});
    session.begin_here();  // undo names it, too
    session.update();
    session.wait_for_training();
    EXPECT_FALSE(is_kept(5));
    EXPECT_LE(run().history_bytes, run().history_budget);
}

TEST_F(HeldMoments, AStepThatIsNotKeptIsShownUnderTheNameOfTheNearest) {
    train_to(12);
    make_room(12);
    train_to(60);
    ASSERT_FALSE(is_kept(7));
    apply(session, command::ShowMoment{7});
    const std::int64_t shown = session.document().trained->step.value_or(-1);
    EXPECT_TRUE(is_kept(shown));
    EXPECT_TRUE(is_step(session.wait().get(), shown));
    apply(session, command::CompareMoment{23});
    const std::int64_t other = session.other_step().value_or(-1);
    EXPECT_TRUE(is_kept(other));
    EXPECT_TRUE(is_step(of(session.states().other_moment).get(), other));
}

/// Undo leads to moments as long as there is room for them, and says so where there was none.
TEST_F(HeldMoments, UndoShowsAMomentItselfOrSaysThatItIsGone) {
    train_to(20);
    for (std::int64_t step = 1; step <= 19; step += 2) apply(session, command::ShowMoment{step});
    make_room(16);
    train_to(200);
    std::size_t shown = 0;
    std::string said;
    while (session.can_undo()) {
        apply(session, command::Undo{});
        if (session.message().find("no longer kept") != std::string::npos) said = session.message();
        if (!session.document().trained || !session.document().trained->step) continue;
        ++shown;
        ASSERT_TRUE(is_step(session.wait().get(), *session.document().trained->step));
    }
    EXPECT_GE(shown, 3U) << "the last of them are held";
    EXPECT_LT(shown, 10U) << "some were to be gone";
    EXPECT_NE(said.find("skipped the model of step "), std::string::npos) << said;
}

TEST_F(HeldMoments, AnotherRunTakesNothingFromTheFirst) {
    train_to(5);
    make_room(24);
    train_to(100);
    const std::vector<std::int64_t> first = run().moments;
    EXPECT_GE(first.size(), 6U);
    EXPECT_LE(first.size(), 12U) << "half of the room";
    for (int more = 0; more < 3; ++more) {
        apply(session, command::RestartTraining{});
        session.wait_for_training();
        EXPECT_GE(run().moments.size(), 2U);
        EXPECT_LE(run().histories_bytes, 24 * one());
        EXPECT_EQ(run().histories_budget, 24 * one());
    }
    EXPECT_EQ(run().kept.front().moments, first.size());
    apply(session, command::ChooseRun{1});
    session.wait_for_training();
    EXPECT_EQ(run().moments, first) << "as it was left";
    const std::size_t before = run().history_budget;
    make_room(400);
    EXPECT_GT(run().history_budget, before);
    EXPECT_EQ(run().moments, first);
    // Less room for all: all of them give some up.
    make_room(14);
    EXPECT_LE(run().histories_bytes, 14 * one());
    EXPECT_LT(run().moments.size(), first.size());
    for (const KeptRun& kept : run().kept) EXPECT_GE(kept.moments, 2U);
    apply(session, command::SetHistoryBudget{0});
    EXPECT_NE(session.message(), "");
}

}  // namespace
}  // namespace attn::app
