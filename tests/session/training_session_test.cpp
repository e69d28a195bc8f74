#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <thread>

#include "app/session/presets.hpp"
#include "app/session/session.hpp"
#include "engine/train/training_run.hpp"
#include "tests/support/fake_run.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app {
namespace {

void no_wake() {}

RunSettings small_run(std::int64_t steps = 24) {
    RunSettings run = default_run(TaskKind::Copy);
    run.task.length = 3;
    run.task.symbols = 6;
    run.model.d_model = 8;
    run.model.num_heads = 2;
    run.model.d_ff = 16;
    run.batch_size = 4;
    run.evaluate_every = 10;
    run.stop = {.steps = steps};
    return run;
}

void apply(Session& session, auto what, const std::string& merge = "") { session.apply({what, merge}); }

/// A session whose run has come to its end.
void train(Session& session, const RunSettings& run = small_run()) {
    apply(session, command::SetRun{run});
    apply(session, command::StartTraining{});
    session.wait_for_training();
}

bool same_numbers(const Parameters<float>& a, const Parameters<float>& b) {
    return a.count() == b.count() && std::equal(a.data(), a.data() + a.count(), b.data());
}

TEST(TrainingSession, TheFirstClickBeginsARunThatTheDocumentFollows) {
    Session session(open_preset(kDefaultPreset), no_wake);
    EXPECT_EQ(session.training().snapshot->phase, TrainingPhase::Idle);
    RunSettings run = session.document().run;
    EXPECT_NO_THROW(validate(run));
    run.stop = {.steps = 3};
    train(session, run);
    EXPECT_EQ(session.training().snapshot->phase, TrainingPhase::Finished) << session.training().snapshot->message;
    ASSERT_TRUE(session.document().trained.has_value());
    EXPECT_EQ(session.document().trained->run, 1U);
    EXPECT_EQ(session.document().trained->step, std::nullopt);
    const auto snapshot = session.wait(true);
    EXPECT_EQ(snapshot->problem, "");
    EXPECT_EQ(snapshot->run, 1U);
    EXPECT_EQ(snapshot->trained_step, 3);
    EXPECT_EQ(snapshot->document->texts.at(0), session.training().snapshot->probe);
    EXPECT_EQ(snapshot->vocabulary, session.training().snapshot->vocabulary);
    ASSERT_NE(snapshot->verification, nullptr);
    EXPECT_TRUE(snapshot->verification->ok);
    ASSERT_NE(snapshot->gradients, nullptr);
}

TEST(TrainingSession, EveryKeptMomentIsTheModelOfARunThatEndsThere) {
    Session session(open_preset(kDefaultPreset), no_wake);
    const RunSettings run = small_run();
    train(session, run);
    const std::vector<std::int64_t> moments = session.training().snapshot->moments;
    ASSERT_EQ(moments.front(), 0);
    ASSERT_EQ(moments.back(), run.stop.steps);
    TrainingRun again(run);
    std::size_t shown = 0;
    for (std::int64_t step = 0; step <= run.stop.steps; ++step) {
        if (step > 0) again.step();
        if (!std::binary_search(moments.begin(), moments.end(), step)) continue;
        apply(session, command::ShowMoment{step}, "scrub");
        const auto snapshot = session.wait(true);
        ASSERT_EQ(snapshot->problem, "");
        ASSERT_EQ(snapshot->trained_step, step);
        ASSERT_TRUE(same_numbers(*snapshot->trace->parameters, again.state().parameters())) << "step " << step;
        ASSERT_TRUE(snapshot->verification->ok);
        ++shown;
    }
    EXPECT_EQ(shown, moments.size());
    // The whole drag is one step, back to following the newest.
    apply(session, command::Undo{});
    EXPECT_EQ(session.document().trained->step, std::nullopt);
    EXPECT_EQ(session.wait(false)->trained_step, run.stop.steps);
    // The check above can tell moments apart.
    apply(session, command::ShowMoment{run.stop.steps - 1});
    EXPECT_FALSE(same_numbers(*session.wait(false)->trace->parameters, again.state().parameters()));
}

TEST(TrainingSession, AStepThatWasNotKeptShowsTheLastOneBefore) {
    const auto shared = std::make_shared<test::FakeTraining>();
    Session session(open_preset(kDefaultPreset), no_wake, test::empty_computation(), test::fake_engine(shared));
    train(session, test::fake_settings(100));
    const std::vector<std::int64_t>& moments = session.training().snapshot->moments;
    ASSERT_LT(moments.size(), 100U);
    apply(session, command::ShowMoment{moments.at(2) - 1});
    EXPECT_EQ(session.wait(false)->trained_step, moments.at(1));
    EXPECT_EQ(session.wait(false)->trace->parameters->data()[0], static_cast<float>(moments.at(1)));
}

TEST(TrainingSession, AMomentAnswersTheUsersOwnQuestions) {
    Session session(open_preset(kDefaultPreset), no_wake);
    train(session);
    apply(session, command::ShowMoment{5});
    apply(session, command::SetTexts{{"cab>c"}, {}});
    ForwardSettings forward = session.document().forward;
    forward.masks.causal = false;
    apply(session, command::SetForward{forward});
    const auto snapshot = session.wait(true);
    EXPECT_EQ(snapshot->problem, "");
    EXPECT_EQ(snapshot->trained_step, 5);
    EXPECT_EQ(snapshot->tokens.at(0).size(), 5U);
    EXPECT_EQ(snapshot->vocabulary, session.training().snapshot->vocabulary);
    EXPECT_FALSE(snapshot->trace->settings.masks.causal);
    EXPECT_TRUE(snapshot->verification->ok);
    apply(session, command::ShowMoment{std::nullopt});
    EXPECT_EQ(session.document().texts.at(0), "cab>c");
    EXPECT_EQ(session.wait(false)->trained_step, 24);
}

TEST(TrainingSession, NamesASymbolThatTheModelDoesNotKnow) {
    Session session(open_preset(kDefaultPreset), no_wake);
    train(session);
    const auto before = session.wait(true);
    apply(session, command::SetTexts{{"ab\xC3\xA9"}, {}});
    const auto after = session.wait(true);
    EXPECT_NE(after->problem.find("\xC3\xA9"), std::string::npos) << after->problem;
    EXPECT_EQ(after->problem_field, Field::Texts);
    EXPECT_EQ(after->trace, before->trace);
    apply(session, command::Undo{});
    EXPECT_EQ(session.wait(true)->problem, "");
    apply(session, command::SetTexts{{"abababababab"}, {}});
    EXPECT_NE(session.wait(true)->problem.find("context length"), std::string::npos) << session.wait(true)->problem;
}

TEST(TrainingSession, GoesBackToFreshlyDrawnParametersOfTheSameModel) {
    Session session(open_preset(kDefaultPreset), no_wake);
    train(session);
    apply(session, command::ShowMoment{0});
    const auto first = session.wait(false);
    apply(session, command::ShowUntrained{});
    const auto untrained = session.wait(true);
    EXPECT_EQ(untrained->problem, "");
    EXPECT_EQ(untrained->run, 0U);
    EXPECT_EQ(untrained->trained_step, std::nullopt);
    EXPECT_TRUE(same_numbers(*untrained->trace->parameters, *first->trace->parameters));
}

TEST(TrainingSession, UndoPassesOverModelsOfARunThatIsGone) {
    Session session(open_preset(kDefaultPreset), no_wake);
    const RunSettings before = session.document().run;
    train(session);
    apply(session, command::ShowMoment{4});
    apply(session, command::ResetTraining{});
    session.wait_for_training();
    EXPECT_EQ(session.document().trained->run, 2U);
    EXPECT_EQ(session.wait(false)->trained_step, 0);
    apply(session, command::Undo{});
    EXPECT_EQ(session.message(), "passed over the model of a training run that is gone");
    EXPECT_FALSE(session.document().trained.has_value());
    EXPECT_EQ(session.document().run, small_run());
    EXPECT_EQ(session.wait(false)->problem, "");
    apply(session, command::Undo{});
    EXPECT_EQ(session.document().run, before);
    EXPECT_EQ(session.document(), open_preset(kDefaultPreset));
    apply(session, command::Redo{});
    apply(session, command::Redo{});
    EXPECT_EQ(session.document().trained->run, 2U);
    EXPECT_EQ(session.wait(false)->trained_step, 0);
}

TEST(TrainingSession, NothingIsLeftToUndoWhenOnlyGoneRunsAreBefore) {
    const auto shared = std::make_shared<test::FakeTraining>();
    Session session(open_preset(kDefaultPreset), no_wake, test::empty_computation(), test::fake_engine(shared));
    train(session, test::fake_settings(3));
    // So many steps within the first run that nothing from before it is left.
    for (int i = 0; i < 600; ++i) apply(session, command::SetTexts{{i % 2 == 0 ? "a" : "b"}, {}});
    apply(session, command::ResetTraining{});
    session.wait_for_training();
    const Document here = session.document();
    apply(session, command::Undo{});
    EXPECT_EQ(session.message(), "that was the model of a training run that is gone");
    EXPECT_EQ(session.document(), here);
    EXPECT_EQ(session.wait(false)->run, 2U);
}

TEST(TrainingSession, LiveSettingsApplyAtOnceAndCanBeUndone) {
    const auto shared = std::make_shared<test::FakeTraining>();
    Session session(open_preset(kDefaultPreset), no_wake, test::empty_computation(), test::fake_engine(shared));
    RunSettings run = test::fake_settings();
    apply(session, command::SetRun{run});
    apply(session, command::ResetTraining{});
    session.wait_for_training();
    const auto before = session.wait(false);
    run.train.schedule.rate = 0.5;
    run.model.d_model = 8;
    apply(session, command::SetRun{run});
    session.wait_for_training();
    EXPECT_EQ(session.training().snapshot->settings.train.schedule.rate, 0.5);
    EXPECT_EQ(session.training().snapshot->settings.model.d_model, 4);
    EXPECT_FALSE(same_model(session.document().run, session.training().snapshot->settings));
    EXPECT_EQ(session.wait(false)->serial, before->serial) << "nothing that is looked at has changed";
    apply(session, command::Undo{});
    session.wait_for_training();
    EXPECT_EQ(session.training().snapshot->settings, test::fake_settings());
}

TEST(TrainingSession, RefusesWhatThereIsNoRunFor) {
    Session session(open_preset(kDefaultPreset), no_wake, test::empty_computation());
    apply(session, command::ShowMoment{3});
    EXPECT_EQ(session.message(), "there is no training run yet");
    apply(session, command::ForgetRun{0});
    EXPECT_NE(session.message(), "");
    EXPECT_EQ(session.document(), open_preset(kDefaultPreset));
}

TEST(TrainingSession, ForgetsEarlierCurvesOnly) {
    const auto shared = std::make_shared<test::FakeTraining>();
    Session session(open_preset(kDefaultPreset), no_wake, test::empty_computation(), test::fake_engine(shared));
    train(session, test::fake_settings(5));
    apply(session, command::RestartTraining{});
    session.wait_for_training();
    ASSERT_EQ(session.training().runs.size(), 2U);
    apply(session, command::ForgetRun{2});
    EXPECT_NE(session.message(), "");
    EXPECT_EQ(session.training().runs.size(), 2U);
    apply(session, command::ForgetRun{1});
    EXPECT_EQ(session.message(), "");
    ASSERT_EQ(session.training().runs.size(), 1U);
    EXPECT_EQ(session.training().runs[0].run, 2U);
}

TEST(TrainingSession, ASavedRunGoesOnWithTheSameLosses) {
    const test::TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "run.safetensors";
    Session session(open_preset(kDefaultPreset), no_wake);
    train(session, small_run(12));
    apply(session, command::SaveCheckpoint{file});
    train(session, small_run(24));
    ASSERT_EQ(session.training().snapshot->step, 24) << session.training().snapshot->message;
    EXPECT_EQ(session.training().snapshot->notice, "saved step 12 as " + file.string());

    apply(session, command::OpenCheckpoint{file});
    session.wait_for_training();
    EXPECT_EQ(session.training().snapshot->phase, TrainingPhase::Paused);
    EXPECT_EQ(session.training().snapshot->step, 12);
    EXPECT_EQ(session.document().run.stop.steps, 12) << "the file's settings are shown";
    EXPECT_EQ(session.wait(true)->trained_step, 12);
    EXPECT_TRUE(session.wait(true)->verification->ok);
    train(session, small_run(24));
    ASSERT_EQ(session.training().runs.size(), 2U);
    const auto& whole = session.training().runs[0].losses;
    const auto& resumed = session.training().runs[1].losses;
    ASSERT_EQ(whole.size(), 24U);
    ASSERT_EQ(resumed.size(), 12U);
    for (std::size_t i = 0; i < 12; ++i) {
        EXPECT_EQ(resumed[i].step, whole[12 + i].step);
        EXPECT_EQ(resumed[i].loss, whole[12 + i].loss);
        EXPECT_EQ(resumed[i].gradient_norm, whole[12 + i].gradient_norm);
    }
}

TEST(TrainingSession, ADamagedFileLeavesTheRunAsItIs) {
    const test::TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "run.safetensors";
    Session session(open_preset(kDefaultPreset), no_wake);
    train(session, small_run(6));
    apply(session, command::SaveCheckpoint{file});
    session.wait_for_training();
    std::filesystem::resize_file(file, std::filesystem::file_size(file) - 8);
    const auto before = session.training().snapshot;
    apply(session, command::OpenCheckpoint{file});
    session.wait_for_training();
    EXPECT_NE(session.training().snapshot->notice.find(file.string()), std::string::npos) << session.training().snapshot->notice;
    EXPECT_EQ(session.training().snapshot->run, before->run);
    EXPECT_EQ(session.training().snapshot->step, 6);
    EXPECT_TRUE(same_numbers(*session.training().snapshot->parameters, *before->parameters));
}

TEST(TrainingSession, AModelOfAMomentWritesOn) {
    Session session(open_preset(kDefaultPreset), no_wake);
    train(session);
    for (const std::int64_t step : {0, 24}) {
        apply(session, command::ShowMoment{step});
        const auto snapshot = session.wait(true);
        EXPECT_EQ(snapshot->problem, "");
        ASSERT_NE(snapshot->sample, nullptr);
        EXPECT_EQ(snapshot->sample->trained_step, step);
        const Trace<float>& trace = *snapshot->trace;
        const std::vector<std::int32_t> expected = generate(*trace.parameters, trace.tokens.ids, trace.settings, {});
        ASSERT_EQ(snapshot->sample->tokens.size(), expected.size());
        std::string text;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            EXPECT_EQ(snapshot->sample->tokens[i].id, expected[i]);
            text += snapshot->vocabulary.at(static_cast<std::size_t>(expected[i]));
        }
        EXPECT_EQ(snapshot->sample->text, text);
    }
    SamplingSettings sampling;
    sampling.temperature = 0;
    sampling.tokens = 3;
    apply(session, command::SetSampling{sampling});
    EXPECT_EQ(session.wait(true)->sample->tokens.size(), 3U);
    sampling.temperature = -1;
    apply(session, command::SetSampling{sampling});
    EXPECT_NE(session.wait(true)->problem, "");
    EXPECT_NE(session.wait(true)->verification, nullptr) << "the rest is computed all the same";
    // A model that sees what it is to write cannot write.
    ForwardSettings forward = session.document().forward;
    forward.masks.causal = false;
    apply(session, command::SetForward{forward});
    EXPECT_EQ(session.wait(true)->sample, nullptr);
}

// However fast the run sends new parameters: the trace of the last ones is let finish.
TEST(TrainingSession, FollowingTheNewestNeverStarves) {
    test::Gate gate;
    gate.close();
    Computation computation = test::empty_computation();
    const auto forward = computation.forward;
    computation.forward = [&gate, forward](auto parameters, const TokenBatch& tokens, const TokenBatch& source,
                                           const ForwardSettings& settings, const std::stop_token& stop) {
        gate.pass(stop);
        return forward(parameters, tokens, source, settings, stop);
    };
    const auto shared = std::make_shared<test::FakeTraining>();
    Session session(open_preset(kDefaultPreset), no_wake, std::move(computation), test::fake_engine(shared));
    apply(session, command::SetRun{test::fake_settings()});
    apply(session, command::StartTraining{});
    while (session.training().snapshot->step == 0) session.update();
    gate.await_arrival();
    const int abandoned = gate.abandoned();
    const std::uint64_t serial = session.training().snapshot->serial;
    while (session.training().snapshot->serial < serial + 10) session.update();
    EXPECT_EQ(gate.abandoned(), abandoned);
    gate.open();
    for (std::int64_t shown = 0, times = 0; times < 5;) {
        session.update();
        const auto snapshot = session.snapshot();
        if (!snapshot->trained_step.has_value() || *snapshot->trained_step <= shown) continue;
        shown = *snapshot->trained_step;
        ++times;
    }
    apply(session, command::PauseTraining{});
    session.wait_for_training();
    EXPECT_EQ(session.wait(true)->trained_step, session.training().snapshot->step);
}

TEST(TrainingSession, ARunWhoseNumbersOverflowKeepsItsLastFiniteModel) {
    Session session(open_preset(kDefaultPreset), no_wake);
    RunSettings run = small_run(1000);
    run.model.num_layers = 8;
    run.model.norm = NormPlacement::None;  // with weights of a hundred and more every layer multiplies by a million
    run.train.schedule = {.kind = ScheduleKind::Constant, .rate = 100};
    run.train.clip_norm = 0;
    train(session, run);
    const TrainingSnapshot& now = *session.training().snapshot;
    ASSERT_EQ(now.phase, TrainingPhase::Failed) << now.step << " steps";
    EXPECT_NE(now.message.find("layers."), std::string::npos) << now.message;
    EXPECT_EQ(now.parameters_step, now.step);
    EXPECT_EQ(session.training().runs.back().losses.size(), static_cast<std::size_t>(now.step));
    EXPECT_TRUE(std::all_of(now.parameters->data(), now.parameters->data() + now.parameters->count(),
                            [](float number) { return std::isfinite(number); }));
    EXPECT_EQ(session.wait(true)->trained_step, now.step);
    // A new run is not touched by it.
    apply(session, command::SetRun{small_run(4)});
    apply(session, command::RestartTraining{});
    session.wait_for_training();
    EXPECT_EQ(session.training().snapshot->phase, TrainingPhase::Finished);
}

TEST(TrainingSession, ClosesInTheMiddleOfAStepOfALargeModel) {
    Session session(open_preset(kDefaultPreset), no_wake);
    RunSettings run = default_run(TaskKind::Text);
    run.model.d_model = 256;
    run.model.num_layers = 4;
    run.model.d_ff = 1024;
    run.batch_size = 256;  // a step of seconds, after an evaluation of seconds
    apply(session, command::SetRun{run});
    apply(session, command::StartTraining{});
    while (session.training().snapshot->phase == TrainingPhase::Idle) session.update();
    ASSERT_EQ(session.training().snapshot->phase, TrainingPhase::Running) << session.training().snapshot->message;
    EXPECT_EQ(session.training().snapshot->step, 0);
}

// Everything that can be done to a run and to the document that shows it; run under the thread sanitizer too.
TEST(TrainingSession, BearsThousandsOfCommandsInAnyOrder) {
    const auto shared = std::make_shared<test::FakeTraining>();
    Session session(open_preset(kDefaultPreset), no_wake, test::empty_computation(), test::fake_engine(shared));
    std::mt19937 random(3);
    const auto pick = [&](int below) { return std::uniform_int_distribution<int>(0, below - 1)(random); };
    apply(session, command::SetRun{test::fake_settings(50)});
    std::int64_t trained = 0;
    for (int i = 0; i < 6000; ++i) {
        const std::string merge = pick(2) == 0 ? "drag" : "";
        switch (pick(12)) {
        case 0:
            apply(session, command::StartTraining{});
            break;
        case 1:
            apply(session, command::PauseTraining{});
            break;
        case 2:
            apply(session, command::StepTraining{});
            break;
        case 3:
            if (pick(4) == 0) apply(session, command::ResetTraining{});
            break;
        case 4:
            if (pick(4) == 0) apply(session, command::RestartTraining{});
            break;
        case 5:
            apply(session, command::ShowMoment{pick(3) == 0 ? std::nullopt : std::optional<std::int64_t>(pick(60))}, merge);
            break;
        case 6:
            apply(session, command::Undo{});
            break;
        case 7:
            apply(session, command::Redo{});
            break;
        case 8:
            apply(session, command::SetTexts{{pick(2) == 0 ? "ab" : "cab"}, {}}, merge);
            break;
        case 9:
            apply(session, command::SetRun{test::fake_settings(pick(2) == 0 ? 0 : 50 + pick(100))}, merge);
            break;
        case 10:
            if (pick(8) == 0) apply(session, command::ShowUntrained{});
            else if (pick(8) == 0) apply(session, command::OpenCheckpoint{"file"});
            break;
        default:
            if (pick(4) == 0) std::this_thread::sleep_for(std::chrono::microseconds(pick(500)));
        }
        session.update();
        const auto snapshot = session.snapshot();
        if (snapshot->trained_step.has_value()) {
            const float number = snapshot->trace->parameters->data()[0];
            if (*snapshot->trained_step > 0) {
                ASSERT_EQ(number, static_cast<float>(*snapshot->trained_step)) << "another moment's model";
            }
            ++trained;
        }
        for (const RunCurves& curves : session.training().runs) {
            const auto points = static_cast<std::int64_t>(curves.losses.size());
            ASSERT_EQ(points == 0 ? 0 : curves.losses.back().step, points);
        }
        if (session.document().trained.has_value()) {
            ASSERT_LE(session.document().trained->run, session.training().snapshot->run);
        }
    }
    EXPECT_GT(trained, 1000);
    apply(session, command::PauseTraining{});
    apply(session, command::ShowMoment{std::nullopt});
    session.wait_for_training();
    const auto last = session.wait(true);
    EXPECT_EQ(last->run, session.training().snapshot->run);
    EXPECT_EQ(last->trained_step, session.training().snapshot->step);
}

}  // namespace
}  // namespace attn::app
