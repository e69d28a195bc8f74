/// Training with and without a mistake, what a new run keeps, and comparison with another moment.

#include <gtest/gtest.h>

#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "app/session/values/readings.hpp"
#include "app/session/values/snapshot.hpp"
#include "tests/support/fake_run.hpp"
#include "tests/support/trained_session.hpp"

namespace attn::app {
namespace {

RunSettings broken_settings(std::int64_t steps) {
    RunSettings run = test::fake_settings(steps);
    run.train.forward.mistake = Mistake::NoScale;
    return run;
}

class TrainBothTest : public ::testing::Test {
protected:
    Mistake mistake_of(std::size_t run) const { return session.training().runs.at(run).settings.train.forward.mistake; }
    std::vector<std::int64_t> made() {
        const std::lock_guard lock(shared->mutex);
        return shared->made;
    }
    std::shared_ptr<test::FakeTraining> shared = std::make_shared<test::FakeTraining>();
    Session session{open_preset(kDefaultPreset), no_wake, test::empty_computation(), test::fake_engine(shared)};
};

TEST_F(TrainBothTest, TheRightRunComesFirstAndTheBrokenOneFollows) {
    apply(session, command::SetRun{broken_settings(5)});
    apply(session, command::TrainBoth{});
    session.wait_for_training();
    ASSERT_EQ(session.training().runs.size(), 2U);
    EXPECT_EQ(mistake_of(0), Mistake::None);
    EXPECT_EQ(mistake_of(1), Mistake::NoScale);
    RunSettings right = session.training().runs[1].settings;
    right.train.forward.mistake = Mistake::None;
    EXPECT_EQ(session.training().runs[0].settings, right) << "they differ in nothing else";
    EXPECT_EQ(made(), (std::vector<std::int64_t>{5, 5}));
    EXPECT_EQ(session.training().status->phase, TrainingPhase::Finished);
    EXPECT_EQ(session.training().status->then, Mistake::None);
}

TEST_F(TrainBothTest, ARightRunThatHasEndedServesForEveryMistake) {
    train(session, test::fake_settings(5));
    for (const Mistake mistake : {Mistake::NoScale, Mistake::InvertedMask}) {
        RunSettings run = test::fake_settings(5);
        run.train.forward.mistake = mistake;
        apply(session, command::SetRun{run});
        apply(session, command::TrainBoth{});
        session.wait_for_training();
        EXPECT_EQ(session.training().runs.back().settings, run);
    }
    EXPECT_EQ(made(), (std::vector<std::int64_t>{5, 5, 5}));
}

TEST_F(TrainBothTest, ABranchOfARunThatWasTrainedOtherwiseDoesNotServe) {
    RunSettings otherwise = test::fake_settings(3);
    otherwise.train.schedule.rate = 0.5;
    train(session, otherwise);
    apply(session, command::SetRun{test::fake_settings(5)});
    apply(session, command::BranchRun{});
    session.wait_for_training();
    apply(session, command::StartTraining{});
    session.wait_for_training();
    const RunCurves& branch = session.training().runs.back();
    ASSERT_TRUE(branch.origin && branch.changes.empty());
    EXPECT_EQ(branch.settings, test::fake_settings(5)) << "it looks like the right run";
    apply(session, command::SetRun{broken_settings(5)});
    apply(session, command::TrainBoth{});
    session.wait_for_training();
    EXPECT_EQ(made(), (std::vector<std::int64_t>{3, 5, 5, 5}));
}

TEST_F(TrainBothTest, AnotherRunMeanwhileIsNotFollowedByTheBrokenOne) {
    shared->step_gate.close();
    apply(session, command::SetRun{broken_settings(5)});
    apply(session, command::TrainBoth{});
    shared->step_gate.await_arrival();
    session.update();
    EXPECT_EQ(session.training().status->then, Mistake::NoScale);
    apply(session, command::SetRun{test::fake_settings(3)});
    apply(session, command::RestartTraining{});
    shared->step_gate.open();
    session.wait_for_training();
    EXPECT_EQ(session.training().runs.back().settings, test::fake_settings(3));
    EXPECT_EQ(session.training().status->then, Mistake::None);
    EXPECT_EQ(made().size(), 2U);
}

/// Settings changed meanwhile affect neither run, so that they differ only in the mistake.
TEST_F(TrainBothTest, NothingChangesOneRunOfThePairAlone) {
    shared->step_gate.close();
    apply(session, command::SetRun{broken_settings(5)});
    apply(session, command::TrainBoth{});
    shared->step_gate.await_arrival();
    session.update();
    EXPECT_TRUE(session.training().status->paired);
    RunSettings changed = broken_settings(5);
    changed.train.schedule.rate = 0.5;
    apply(session, command::SetRun{changed});
    shared->step_gate.open();
    session.wait_for_training();
    ASSERT_EQ(session.training().runs.size(), 2U);
    for (const RunCurves& run : session.training().runs) {
        EXPECT_EQ(run.settings.train.schedule.rate, broken_settings(5).train.schedule.rate);
        EXPECT_TRUE(run.changes.empty());
    }
    EXPECT_EQ(session.training().status->settings.train.schedule.rate, broken_settings(5).train.schedule.rate);
    EXPECT_FALSE(session.training().status->paired);
    // An unpaired run adopts the changes, and its curve no longer has its first settings.
    changed.train.schedule.rate = 0.25;
    apply(session, command::SetRun{changed});
    session.wait_for_training();
    ASSERT_FALSE(session.training().runs.back().changes.empty());
    EXPECT_EQ(session.training().runs.back().changes.back().settings.train.schedule.rate, 0.25);
}

TEST_F(TrainBothTest, AMistakeIsTakenUpByANewRunOnly) {
    apply(session, command::SetRun{test::fake_settings()});
    apply(session, command::ResetTraining{});
    RunSettings run = broken_settings(0);
    run.batch_size = 7;
    apply(session, command::SetRun{run});
    apply(session, command::StepTraining{});
    session.wait_for_training();
    EXPECT_EQ(session.training().status->settings.train.forward.mistake, Mistake::None) << "its curve would be of two kinds";
    EXPECT_EQ(session.training().status->settings.batch_size, 7) << "everything else applies";
    apply(session, command::ResetTraining{});
    session.wait_for_training();
    EXPECT_EQ(session.training().status->settings.train.forward.mistake, Mistake::NoScale);
    EXPECT_EQ(session.document().forward.mistake, Mistake::NoScale) << "what is shown is computed as it is trained";
}

TEST_F(TrainBothTest, NeedsAMistake) {
    apply(session, command::TrainBoth{});
    EXPECT_NE(session.message(), "");
    EXPECT_TRUE(made().empty());
}

Edit some_edit() {
    Edit edit;
    edit.at = {Stage::Scores, 0};
    edit.head = edit.sequence = 0;
    edit.row = 1;
    edit.column = 0;
    edit.value = 3;
    return edit;
}

ForwardSettings with_edit(ForwardSettings forward) {
    forward.edits = {some_edit()};
    return forward;
}

TEST(NewRun, OfTheSameModelKeepsEditsAndMasks) {
    Session session(open_preset(kDefaultPreset), no_wake);
    train(session);
    ForwardSettings forward = with_edit(session.document().forward);
    forward.masks.window = 2;
    apply(session, command::SetForward{forward});
    apply(session, command::RestartTraining{});
    session.wait_for_training();
    EXPECT_EQ(session.document().trained->run, 2U);
    EXPECT_EQ(session.document().forward, forward);
    EXPECT_EQ(session.wait()->problem, "");
}

TEST(NewRun, OfAnotherModelReportsLostEditsAndUndoRestoresThem) {
    Session session(open_preset("causal-attention"), no_wake);
    apply(session, command::SetForward{with_edit(session.document().forward)});
    const Document before = session.document();
    const std::uint64_t notices = session.files().notices;
    train(session);
    EXPECT_TRUE(session.document().forward.edits.empty());
    EXPECT_EQ(session.files().notices, notices + 1);
    EXPECT_NE(session.files().notice.find("edit"), std::string::npos) << session.files().notice;
    while (session.document().trained) apply(session, command::Undo{});
    EXPECT_EQ(session.document().forward, before.forward);
    EXPECT_EQ(session.document().texts, before.texts);
}

class OtherMomentTest : public ::testing::Test {
protected:
    OtherMomentTest() { train(session); }
    /// Null if there is none.
    std::shared_ptr<const Snapshot> other() {
        session.wait();
        const StateRef state = session.states().other_moment;
        return state == nullptr ? nullptr : session.compute(state, facet::Trace{}).value;
    }
    Session session{open_preset(kDefaultPreset), no_wake};
};

TEST_F(OtherMomentTest, IsTheShownTextWithTheModelOfThatStep) {
    EXPECT_EQ(other(), nullptr);
    apply(session, command::CompareMoment{0});
    auto moment = other();
    ASSERT_NE(moment, nullptr);
    ASSERT_NE(moment->trace, nullptr) << moment->problem;
    EXPECT_EQ(moment->trained_step, 0);
    const auto shown = session.wait();
    EXPECT_EQ(moment->trace->tokens, shown->trace->tokens);
    EXPECT_FALSE(same_numbers(*moment->trace->parameters, *shown->trace->parameters));
    EXPECT_TRUE(session.compute(moment->state, facet::Lens{}));
    // It follows text and settings but keeps its step.
    const std::string text = session.document().texts[0].substr(0, 2);
    apply(session, command::SetTexts{{text}, {}});
    ForwardSettings forward = session.document().forward;
    forward.masks.causal = false;
    apply(session, command::SetForward{forward});
    moment = other();
    EXPECT_EQ(moment->trace->tokens, session.wait()->trace->tokens);
    EXPECT_FALSE(moment->trace->settings.masks.causal);
    EXPECT_EQ(moment->trained_step, 0);
    // The same moment on both sides gives the same numbers, bit for bit.
    apply(session, command::ShowMoment{0});
    const auto own = session.wait()->trace->find({Stage::Weights, 0})->value.values();
    const auto compared = other()->trace->find({Stage::Weights, 0})->value.values();
    EXPECT_TRUE(std::equal(own.begin(), own.end(), compared.begin(), compared.end()));
}

TEST_F(OtherMomentTest, IsGoneWithItsRunAndWhenNobodyAsks) {
    apply(session, command::CompareMoment{4});
    EXPECT_EQ(other()->trained_step, 4);
    EXPECT_EQ(session.other_step(), 4);
    apply(session, command::ShowUntrained{});
    EXPECT_EQ(other(), nullptr);
    apply(session, command::Undo{});
    EXPECT_EQ(other()->trained_step, 4) << "it comes back with the model";
    apply(session, command::CompareMoment{});
    EXPECT_EQ(other(), nullptr);
    EXPECT_EQ(session.other_step(), std::nullopt);
}

TEST(ComparedReadings, AreThereForEveryStateThatCanBeComparedWith) {
    Session session(open_preset("gpt-tiny"), no_wake);
    ForwardSettings forward = with_edit(session.document().forward);
    forward.mistake = Mistake::NoScale;
    apply(session, command::SetForward{forward});
    session.wait();
    const States states = session.states();
    for (const StateRef& state : {states.unedited, states.unmasked, states.correct}) {
        const auto readings = session.compute(state, facet::Lens{});
        ASSERT_TRUE(readings) << readings.problem;
        EXPECT_TRUE(readings->lens.has_value());
        EXPECT_FALSE(session.compute(state, facet::Totals{})->totals.empty());
    }
    const auto numbers = [](const TotalsReading& reading) { return reading.totals[0].rollouts.back().sequence(0); };
    const facet::Totals totals;
    const auto own = session.get(totals), other = session.compute(states.unmasked, totals).value;
    const auto shown = numbers(*own), unmasked = numbers(*other);
    EXPECT_FALSE(std::equal(shown.begin(), shown.end(), unmasked.begin(), unmasked.end()));
}

}  // namespace
}  // namespace attn::app
