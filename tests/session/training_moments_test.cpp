/// Going back to any moment of a run: the model of that step, applied to the user's own text.

#include <gtest/gtest.h>

#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "app/session/values/sample.hpp"
#include "app/session/values/verification.hpp"
#include "engine/reference/verification.hpp"
#include "engine/train/training_run.hpp"
#include "tests/support/fake_run.hpp"
#include "tests/support/trained_session.hpp"

namespace attn::app {
namespace {

TEST(TrainingMoments, EveryKeptMomentIsTheModelOfARunThatEndsThere) {
    Session session(open_preset(kDefaultPreset), no_wake);
    const RunSettings run = small_run();
    train(session, run);
    const std::vector<std::int64_t> moments = session.training().status->moments;
    ASSERT_EQ(moments.front(), 0);
    ASSERT_EQ(moments.back(), run.stop.steps);
    TrainingRun again(run);
    std::size_t shown = 0;
    for (std::int64_t step = 0; step <= run.stop.steps; ++step) {
        if (step > 0) again.step();
        if (!std::binary_search(moments.begin(), moments.end(), step)) continue;
        apply(session, command::ShowMoment{step}, "scrub");
        const auto snapshot = session.wait();
        ASSERT_EQ(snapshot->problem, "");
        ASSERT_EQ(snapshot->trained_step, step);
        ASSERT_TRUE(same_numbers(*snapshot->trace->parameters, again.state().parameters())) << "step " << step;
        ASSERT_TRUE(session.get(facet::Verification{})->ok);
        ++shown;
    }
    EXPECT_EQ(shown, moments.size());
    // The whole drag is a single step, after which the newest is followed again.
    apply(session, command::Undo{});
    EXPECT_EQ(session.document().trained->step, std::nullopt);
    EXPECT_EQ(session.wait()->trained_step, run.stop.steps);
    // Negative control: other moments differ.
    apply(session, command::ShowMoment{run.stop.steps - 1});
    EXPECT_FALSE(same_numbers(*session.wait()->trace->parameters, again.state().parameters()));
}

TEST(TrainingMoments, AStepThatWasNotKeptShowsTheNearest) {
    const auto shared = std::make_shared<test::FakeTraining>();
    Session session(open_preset(kDefaultPreset), no_wake, test::empty_computation(), test::fake_engine(shared));
    train(session, test::fake_settings(100));
    const std::vector<std::int64_t>& moments = session.training().status->moments;
    ASSERT_LT(moments.size(), 100U);
    ASSERT_GE(moments.at(2) - moments.at(1), 3);
    for (const std::int64_t place : {1, 2}) {
        const std::int64_t kept = moments.at(static_cast<std::size_t>(place)), beside = place == 1 ? kept + 1 : kept - 1;
        apply(session, command::ShowMoment{beside});
        EXPECT_EQ(session.wait()->trained_step, kept);
        EXPECT_EQ(session.wait()->trace->parameters->data()[0], static_cast<float>(kept));
    }
}

TEST(TrainingMoments, AStepThatTheRunHasNotMadeIsRefusedAndNothingChanges) {
    Session session(open_preset(kDefaultPreset), no_wake);
    train(session);
    apply(session, command::ShowMoment{4});
    for (const Command& command : {Command{command::ShowMoment{25}, ""}, Command{command::CompareMoment{25}, ""}}) {
        session.apply(command);
        EXPECT_NE(session.message().find("no step 25: it has made 24 steps"), std::string::npos) << session.message();
        EXPECT_EQ(session.document().trained->step, 4);
        EXPECT_EQ(session.other_step(), std::nullopt);
    }
    apply(session, command::ShowMoment{24});
    EXPECT_EQ(session.wait()->trained_step, 24);
}

TEST(TrainingMoments, AMomentAnswersTheUsersOwnQuestions) {
    Session session(open_preset(kDefaultPreset), no_wake);
    train(session);
    apply(session, command::ShowMoment{5});
    apply(session, command::SetTexts{{"cab>c"}, {}});
    ForwardSettings forward = session.document().forward;
    forward.masks.causal = false;
    apply(session, command::SetForward{forward});
    const auto snapshot = session.wait();
    EXPECT_EQ(snapshot->problem, "");
    EXPECT_EQ(snapshot->trained_step, 5);
    EXPECT_EQ(snapshot->tokens.at(0).size(), 5U);
    EXPECT_EQ(snapshot->vocabulary, session.training().status->vocabulary);
    EXPECT_FALSE(snapshot->trace->settings.masks.causal);
    EXPECT_TRUE(session.get(facet::Verification{})->ok);
    apply(session, command::ShowMoment{std::nullopt});
    EXPECT_EQ(session.document().texts.at(0), "cab>c");
    EXPECT_EQ(session.wait()->trained_step, 24);
}

TEST(TrainingMoments, NamesASymbolThatTheModelDoesNotKnow) {
    Session session(open_preset(kDefaultPreset), no_wake);
    train(session);
    const auto before = session.wait();
    apply(session, command::SetTexts{{"ab\xC3\xA9"}, {}});
    const auto after = session.wait();
    EXPECT_NE(after->problem.find("\xC3\xA9"), std::string::npos) << after->problem;
    EXPECT_EQ(after->problem_field, Field::Texts);
    EXPECT_EQ(after->trace, before->trace);
    apply(session, command::Undo{});
    EXPECT_EQ(session.wait()->problem, "");
    apply(session, command::SetTexts{{"abababababab"}, {}});
    EXPECT_NE(session.wait()->problem.find("context length"), std::string::npos) << session.wait()->problem;
}

TEST(TrainingMoments, GoesBackToFreshlyDrawnParametersOfTheSameModel) {
    Session session(open_preset(kDefaultPreset), no_wake);
    train(session);
    apply(session, command::ShowMoment{0});
    const auto first = session.wait();
    apply(session, command::ShowUntrained{});
    const auto untrained = session.wait();
    EXPECT_EQ(untrained->problem, "");
    EXPECT_EQ(untrained->run, 0U);
    EXPECT_EQ(untrained->trained_step, std::nullopt);
    EXPECT_TRUE(same_numbers(*untrained->trace->parameters, *first->trace->parameters));
}

TEST(TrainingMoments, UndoPassesOverModelsOfARunThatIsGone) {
    Session session(open_preset(kDefaultPreset), no_wake);
    const RunSettings before = session.document().run;
    train(session);
    apply(session, command::ShowMoment{4});
    apply(session, command::ResetTraining{});
    session.wait_for_training();
    EXPECT_EQ(session.document().trained->run, 2U);
    EXPECT_EQ(session.wait()->trained_step, 0);
    apply(session, command::ForgetRun{1});
    session.wait_for_training();
    apply(session, command::Undo{});
    EXPECT_EQ(session.message(), "skipped the model of a training run that no longer exists");
    EXPECT_FALSE(session.document().trained.has_value());
    EXPECT_EQ(session.document().run, small_run());
    EXPECT_EQ(session.wait()->problem, "");
    apply(session, command::Undo{});
    EXPECT_EQ(session.document().run, before);
    EXPECT_EQ(session.document(), open_preset(kDefaultPreset));
    apply(session, command::Redo{});
    apply(session, command::Redo{});
    EXPECT_EQ(session.document().trained->run, 2U);
    EXPECT_EQ(session.wait()->trained_step, 0);
}

TEST(TrainingMoments, NothingIsLeftToUndoWhenOnlyGoneRunsAreBefore) {
    const auto shared = std::make_shared<test::FakeTraining>();
    Session session(open_preset(kDefaultPreset), no_wake, test::empty_computation(), test::fake_engine(shared));
    train(session, test::fake_settings(3));
    // Enough undo steps within the first run that none from before are left.
    for (int i = 0; i < 600; ++i) apply(session, command::SetTexts{{i % 2 == 0 ? "a" : "b"}, {}});
    apply(session, command::ResetTraining{});
    session.wait_for_training();
    apply(session, command::ForgetRun{1});
    session.wait_for_training();
    const Document here = session.document();
    apply(session, command::Undo{});
    EXPECT_EQ(session.message(), "that was the model of a training run that no longer exists");
    EXPECT_EQ(session.document(), here);
    EXPECT_EQ(session.wait()->run, 2U);
}

TEST(TrainingMoments, AModelOfAMomentWritesOn) {
    Session session(open_preset(kDefaultPreset), no_wake);
    train(session);
    for (const std::int64_t step : {0, 24}) {
        apply(session, command::ShowMoment{step});
        const auto snapshot = session.wait();
        EXPECT_EQ(snapshot->problem, "");
        const auto sample = session.get(facet::Sample{session.document().sampling});
        EXPECT_EQ(sample->trained_step, step);
        const Trace<float>& trace = *snapshot->trace;
        const std::vector<std::int32_t> expected = generate(*trace.parameters, {trace.tokens.ids}, trace.settings, {});
        ASSERT_EQ(sample->tokens.size(), expected.size());
        std::string text;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            EXPECT_EQ(sample->tokens[i].id, expected[i]);
            text += snapshot->vocabulary.at(static_cast<std::size_t>(expected[i]));
        }
        EXPECT_EQ(sample->text, text);
    }
    SamplingSettings sampling;
    sampling.temperature = 0;
    sampling.tokens = 3;
    apply(session, command::SetSampling{sampling});
    EXPECT_EQ(session.get(facet::Sample{sampling})->tokens.size(), 3U);
    sampling.temperature = -1;
    apply(session, command::SetSampling{sampling});
    EXPECT_NE(session.compute(facet::Sample{sampling}).problem, "");
    EXPECT_NE(session.get(facet::Verification{}), nullptr) << "the rest is computed all the same";
    // A model that sees later tokens cannot generate text.
    ForwardSettings forward = session.document().forward;
    forward.masks.causal = false;
    apply(session, command::SetForward{forward});
    EXPECT_NE(session.compute(facet::Sample{}).problem, "");
}

}  // namespace
}  // namespace attn::app
