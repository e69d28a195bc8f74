#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <thread>

#include "app/session/document/presets.hpp"
#include "app/session/facets/asked_positions.hpp"
#include "app/session/facets/computation.hpp"
#include "app/session/session.hpp"
#include "app/session/values/gradients.hpp"
#include "app/session/values/readings.hpp"
#include "app/session/values/verification.hpp"
#include "engine/reference/verification.hpp"
#include "engine/trace/gradient_trace.hpp"
#include "tests/support/fake_run.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/trained_session.hpp"

namespace attn::app {
namespace {

TEST(TrainingSession, TheFirstClickBeginsARunThatTheDocumentFollows) {
    Session session(open_preset(kDefaultPreset), no_wake);
    EXPECT_EQ(session.training().status->phase, TrainingPhase::Idle);
    RunSettings run = session.document().run;
    EXPECT_NO_THROW(validate(run));
    run.stop = {.steps = 3};
    train(session, run);
    EXPECT_EQ(session.training().status->phase, TrainingPhase::Finished) << session.training().status->message;
    ASSERT_TRUE(session.document().trained.has_value());
    EXPECT_EQ(session.document().trained->run, 1U);
    EXPECT_EQ(session.document().trained->step, std::nullopt);
    const auto snapshot = session.wait();
    EXPECT_EQ(snapshot->problem, "");
    EXPECT_EQ(snapshot->run, 1U);
    EXPECT_EQ(snapshot->trained_step, 3);
    EXPECT_EQ(snapshot->state->setup->texts.at(0), session.training().status->probe);
    EXPECT_EQ(snapshot->vocabulary, session.training().status->vocabulary);
    EXPECT_TRUE(session.get(facet::Verification{})->ok);
    EXPECT_NE(session.get(facet::Gradients{}), nullptr);
}

/// Of a copied text only the copy can be predicted; the losses of the lens leave out the rest.
TEST(TrainingSession, LossesCountWhatTheTaskAsksFor) {
    Session session(open_preset(kDefaultPreset), no_wake);
    RunSettings run = default_run(TaskKind::Copy);
    run.stop = {.steps = 2};
    train(session, run);
    const auto snapshot = session.wait();
    const std::vector<std::uint8_t> asked = asked_positions(TaskKind::Copy, snapshot->tokens.at(0));
    EXPECT_EQ(snapshot->asked, asked);
    ASSERT_NE(std::count(asked.begin(), asked.end(), 0), 0);
    const auto readings = session.get(facet::Lens{});
    const LogitLens& lens = *readings->lens;
    double sum = 0, counted = 0;
    for (std::size_t t = 0; t + 1 < asked.size(); ++t)
        if (asked[t] != 0) {
            sum -= std::log(static_cast<double>(lens.at(lens.stages.size() - 1, 0, static_cast<std::int64_t>(t)).next_probability));
            ++counted;
        }
    EXPECT_NEAR(readings->losses.back(), sum / counted, 1e-12);
    apply(session, command::ShowMoment{1});
    EXPECT_EQ(session.wait()->asked, asked);
    apply(session, command::ShowUntrained{});
    EXPECT_TRUE(session.wait()->asked.empty());
}

TEST(TrainingSession, LiveSettingsApplyAtOnceAndCanBeUndone) {
    const auto shared = std::make_shared<test::FakeTraining>();
    Session session(open_preset(kDefaultPreset), no_wake, test::empty_computation(), test::fake_engine(shared));
    RunSettings run = test::fake_settings();
    apply(session, command::SetRun{run});
    apply(session, command::ResetTraining{});
    session.wait_for_training();
    const auto before = session.wait();
    run.train.schedule.rate = 0.5;
    run.model.d_model = 8;
    apply(session, command::SetRun{run});
    session.wait_for_training();
    EXPECT_EQ(session.training().status->settings.train.schedule.rate, 0.5);
    EXPECT_EQ(session.training().status->settings.model.d_model, 4);
    EXPECT_FALSE(same_model(session.document().run, session.training().status->settings));
    EXPECT_EQ(session.wait()->serial, before->serial) << "nothing that is looked at has changed";
    apply(session, command::Undo{});
    session.wait_for_training();
    EXPECT_EQ(session.training().status->settings, test::fake_settings());
}

/// Another task comes with a length and a rate of its own.
TEST(TrainingSession, SettingsOfAnotherTaskWaitForARunOfTheirs) {
    const auto shared = std::make_shared<test::FakeTraining>();
    Session session(open_preset(kDefaultPreset), no_wake, test::empty_computation(), test::fake_engine(shared));
    const RunSettings run = test::fake_settings();
    apply(session, command::SetRun{run});
    apply(session, command::ResetTraining{});
    session.wait_for_training();
    RunSettings other = run;
    other.task.kind = run.task.kind == TaskKind::Sort ? TaskKind::Copy : TaskKind::Sort;
    other.stop.steps = run.stop.steps + 77;
    other.train.schedule.rate = 0.5;
    apply(session, command::SetRun{other});
    session.wait_for_training();
    EXPECT_EQ(session.training().status->settings, run);
    apply(session, command::StepTraining{});
    session.wait_for_training();
    EXPECT_EQ(session.training().status->step, 1);
    EXPECT_EQ(session.training().status->settings, run) << "the run goes on as it is";
    apply(session, command::ResetTraining{});
    session.wait_for_training();
    EXPECT_EQ(session.training().status->settings.stop.steps, other.stop.steps);
}

TEST(TrainingSession, RefusesWhatThereIsNoRunFor) {
    Session session(open_preset(kDefaultPreset), no_wake, test::empty_computation());
    apply(session, command::ShowMoment{3});
    EXPECT_EQ(session.message(), "there is no training run yet");
    apply(session, command::ForgetRun{0});
    EXPECT_NE(session.message(), "");
    EXPECT_EQ(session.document(), open_preset(kDefaultPreset));
}

TEST(TrainingSession, EarlierRunsCanBeGoneBackTo) {
    const auto shared = std::make_shared<test::FakeTraining>();
    Session session(open_preset(kDefaultPreset), no_wake, test::empty_computation(), test::fake_engine(shared));
    train(session, test::fake_settings(5));
    apply(session, command::ShowMoment{2});
    RunSettings other = test::fake_settings(2);
    other.task.kind = TaskKind::Reverse;
    apply(session, command::SetRun{other});
    apply(session, command::RestartTraining{});
    session.wait_for_training();
    ASSERT_EQ(session.document().trained->run, 2U);
    apply(session, command::ChooseRun{1});
    session.wait_for_training();
    EXPECT_EQ(session.training().status->run, 1U);
    EXPECT_EQ(session.document().trained, (TrainedModel{1, std::nullopt}));
    EXPECT_EQ(session.document().run, test::fake_settings(5)) << "beside its own settings";
    EXPECT_EQ(session.training().status->settings, test::fake_settings(5));
    apply(session, command::ChooseRun{2});
    session.wait_for_training();
    EXPECT_EQ(session.document().run, other);
    // Undo goes back through the moments of the runs.
    for (int i = 0; i < 10 && !(session.document().trained == TrainedModel{1, 2}); ++i) {
        apply(session, command::Undo{});
        session.wait_for_training();
    }
    EXPECT_EQ(session.document().trained, (TrainedModel{1, 2}));
    EXPECT_EQ(session.training().status->run, 1U) << "the run of what is shown";
    apply(session, command::ChooseRun{7});
    EXPECT_NE(session.message(), "");
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
    const std::filesystem::path file = folder.path() / "run";
    Session session(open_preset(kDefaultPreset), no_wake);
    train(session, small_run(12));
    save_run(session, file);
    EXPECT_EQ(session.files().notice, "Saved step 12 in " + file.string() + ".");
    train(session, small_run(24));
    ASSERT_EQ(session.training().status->step, 24) << session.training().status->message;

    apply(session, command::OpenCheckpoint{file});
    session.wait_for_training();
    EXPECT_EQ(session.training().status->phase, TrainingPhase::Finished) << "it was saved at its last step";
    EXPECT_EQ(session.training().status->step, 12);
    EXPECT_EQ(session.document().run.stop.steps, 12) << "the file's settings are shown";
    EXPECT_EQ(session.wait()->trained_step, 12);
    EXPECT_TRUE(session.get(facet::Verification{})->ok);
    train(session, small_run(24));
    ASSERT_EQ(session.training().runs.size(), 2U);
    const auto& whole = session.training().runs[0].losses;
    const auto& resumed = session.training().runs[1].losses;
    ASSERT_EQ(whole.size(), 24U);
    ASSERT_EQ(resumed.size(), 24U) << "with what went before";
    for (std::size_t i = 0; i < 24; ++i) {
        EXPECT_EQ(resumed[i].step, whole[i].step);
        EXPECT_EQ(resumed[i].loss, whole[i].loss);
        EXPECT_EQ(resumed[i].gradient_norm, whole[i].gradient_norm);
    }
}

TEST(TrainingSession, MoreStepsAfterTheEndAreLearnedFrom) {
    const test::TemporaryFolder folder;
    RunSettings settings = small_run(20);
    settings.train.schedule.total_steps = 20;
    settings.train.schedule.warm_up_steps = 2;
    Session session(open_preset(kDefaultPreset), no_wake);
    train(session, settings);
    ASSERT_EQ(session.training().status->step, 20);
    save_run(session, folder / "run");
    const auto goes_on = [&] {
        const auto before = session.training().status->parameters;
        // As from the slider for steps, which passes other values.
        for (const std::int64_t steps : {30, 70, 40}) {
            RunSettings more = session.document().run;
            more.stop.steps = more.train.schedule.total_steps = steps;
            apply(session, command::SetRun{more}, "steps");
        }
        apply(session, command::StartTraining{});
        session.wait_for_training();
        ASSERT_EQ(session.training().status->step, 40) << session.training().status->message;
        EXPECT_FALSE(same_numbers(*before, *session.training().status->parameters));
        const auto& losses = session.training().runs.back().losses;
        std::vector<double> rates;
        for (std::size_t i = losses.size() - 20; i < losses.size(); ++i) rates.push_back(losses[i].learning_rate);
        for (const double rate : rates) EXPECT_GT(rate, 0);
        EXPECT_LT(rates[0], rates[2]) << "no jump to the longer curve";
        EXPECT_LT(rates.back(), rates[2]);
    };
    goes_on();
    const auto whole = session.training().status->parameters;
    apply(session, command::OpenCheckpoint{folder / "run"});
    session.wait_for_training();
    goes_on();
    EXPECT_TRUE(same_numbers(*whole, *session.training().status->parameters)) << "the same after saving and opening";
    // A new run does not inherit the continuation.
    apply(session, command::RestartTraining{});
    session.wait_for_training();
    EXPECT_EQ(session.training().status->settings.train.schedule.continued, std::nullopt);
    EXPECT_EQ(session.training().status->step, 40);
}

TEST(TrainingSession, ADamagedFileLeavesTheRunAsItIs) {
    const test::TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "run/model.safetensors";
    Session session(open_preset(kDefaultPreset), no_wake);
    train(session, small_run(6));
    save_run(session, folder.path() / "run");
    std::filesystem::resize_file(file, std::filesystem::file_size(file) - 8);
    const auto before = session.training().status;
    apply(session, command::OpenCheckpoint{file});
    session.wait_for_training();
    EXPECT_NE(session.training().status->notice.find(file.string()), std::string::npos) << session.training().status->notice;
    EXPECT_EQ(session.training().status->run, before->run);
    EXPECT_EQ(session.training().status->step, 6);
    EXPECT_TRUE(same_numbers(*session.training().status->parameters, *before->parameters));
}

// However fast the run publishes new parameters, a trace in progress is allowed to finish.
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
    gate.await_arrival();  // the example's own forward pass, which is no longer needed once the run starts
    apply(session, command::SetRun{test::fake_settings()});
    apply(session, command::StartTraining{});
    // As often as a window, or rather more; without a pause, only the waiting would be busy.
    const auto update = [&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        session.update();
    };
    while (session.training().status->step == 0) update();
    gate.await_abandoned(1);
    gate.await_arrival();
    const int abandoned = gate.abandoned();
    const std::uint64_t serial = session.training().status->serial;
    while (session.training().status->serial < serial + 10) update();
    EXPECT_EQ(gate.abandoned(), abandoned);
    gate.open();
    for (std::int64_t shown = 0, times = 0; times < 5;) {
        update();
        const auto snapshot = session.snapshot();
        if (!snapshot->trained_step.has_value() || *snapshot->trained_step <= shown) continue;
        shown = *snapshot->trained_step;
        ++times;
    }
    apply(session, command::PauseTraining{});
    session.wait_for_training();
    EXPECT_EQ(session.wait()->trained_step, session.training().status->step);
}

TEST(TrainingSession, ARunWhoseNumbersOverflowKeepsItsLastFiniteModel) {
    Session session(open_preset(kDefaultPreset), no_wake);
    RunSettings run = small_run(1000);
    run.model.num_layers = 8;
    run.model.norm = NormPlacement::None;  // with weights above 100, every layer multiplies by a million
    run.train.schedule = {.kind = ScheduleKind::Constant, .rate = 100};
    run.train.clip_norm = 0;
    train(session, run);
    const RunStatus& now = *session.training().status;
    ASSERT_EQ(now.phase, TrainingPhase::Failed) << now.step << " steps";
    EXPECT_NE(now.message.find("layers."), std::string::npos) << now.message;
    EXPECT_EQ(now.parameters_step, now.step);
    EXPECT_EQ(session.training().runs.back().losses.size(), static_cast<std::size_t>(now.step));
    EXPECT_TRUE(std::all_of(now.parameters->data(), now.parameters->data() + now.parameters->count(),
                            [](float number) { return std::isfinite(number); }));
    EXPECT_EQ(session.wait()->trained_step, now.step);
    // A new run is not affected.
    apply(session, command::SetRun{small_run(4)});
    apply(session, command::RestartTraining{});
    session.wait_for_training();
    EXPECT_EQ(session.training().status->phase, TrainingPhase::Finished);
}

TEST(TrainingSession, ClosesInTheMiddleOfAStepOfALargeModel) {
    Session session(open_preset(kDefaultPreset), no_wake);
    RunSettings run = default_run(TaskKind::Text);
    run.model.d_model = 256;
    run.model.num_layers = 4;
    run.model.d_ff = 1024;
    run.batch_size = 256;  // steps of seconds, after an evaluation of seconds
    apply(session, command::SetRun{run});
    apply(session, command::StartTraining{});
    while (session.training().status->phase == TrainingPhase::Idle) session.update();
    ASSERT_EQ(session.training().status->phase, TrainingPhase::Running) << session.training().status->message;
    EXPECT_EQ(session.training().status->step, 0);
}

TEST(TrainingSession, WaitsForTheNewestMomentOfAFollowedRunThoughAnEarlierOneIsStillBeingComputed) {
    test::Gate traces;
    Computation computation = test::empty_computation();
    const auto forward = computation.forward;
    computation.forward = [&traces, forward](auto parameters, const TokenBatch& tokens, const TokenBatch& source,
                                             const ForwardSettings& settings, const std::stop_token& stop) {
        traces.pass(stop);
        return forward(parameters, tokens, source, settings, stop);
    };
    Session session(open_preset(kDefaultPreset), no_wake, std::move(computation),
                    test::fake_engine(std::make_shared<test::FakeTraining>()));
    apply(session, command::SetRun{test::fake_settings(50)});
    apply(session, command::StepTraining{});
    session.wait_for_training();
    ASSERT_EQ(session.wait()->trained_step, 1);
    traces.close();
    for (int step = 2; step <= 3; ++step) {
        apply(session, command::StepTraining{});
        session.wait_for_training();
        ASSERT_EQ(session.training().status->step, step);
        traces.await_arrival();
    }
    traces.open();
    EXPECT_EQ(session.wait()->trained_step, 3);
}

// Every command for a run and the document that shows it; also run under the thread sanitizer.
TEST(TrainingSession, BearsThousandsOfCommandsInAnyOrder) {
    std::uint64_t newest = 0;  // earlier runs can become current again
    const auto shared = std::make_shared<test::FakeTraining>();
    Session session(open_preset(kDefaultPreset), no_wake, test::empty_computation(), test::fake_engine(shared));
    std::mt19937 random(3);
    const auto pick = [&](int below) { return std::uniform_int_distribution<int>(0, below - 1)(random); };
    apply(session, command::SetRun{test::fake_settings(50)});
    std::int64_t trained = 0, named = 0;
    // More than 6000 on a busy machine, where all orders may be given before another thread gets its turn.
    for (int i = 0; i < 6000 || ((trained <= 1000 || named <= 100) && i < 600'000); ++i) {
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
        // Both at once: a newer moment may be ready a little later.
        const Session::Shown now = session.shown();
        const auto& snapshot = now.snapshot;
        if (snapshot->trained_step.has_value()) {
            const float number = snapshot->trace->parameters->data()[0];
            if (*snapshot->trained_step > 0) {
                ASSERT_EQ(number, static_cast<float>(*snapshot->trained_step)) << "another moment's model";
            }
            ++trained;
        }
        if (now.up_to_date && session.document().trained && session.document().trained->step) {
            ASSERT_EQ(snapshot->trained_step, session.document().trained->step) << "another moment under the name of this one";
            ++named;
        }
        for (const RunCurves& curves : session.training().runs) {
            const auto points = static_cast<std::int64_t>(curves.losses.size());
            ASSERT_EQ(points == 0 ? 0 : curves.losses.back().step, points);
        }
        if (session.document().trained.has_value()) {
            newest = std::max(newest, session.training().status->run);
            ASSERT_LE(session.document().trained->run, newest);
        }
    }
    EXPECT_GT(trained, 1000);
    EXPECT_GT(named, 100);
    apply(session, command::PauseTraining{});
    apply(session, command::ShowMoment{std::nullopt});
    session.wait_for_training();
    const auto last = session.wait();
    EXPECT_EQ(last->run, session.training().status->run);
    EXPECT_EQ(last->trained_step, session.training().status->step);
}

}  // namespace
}  // namespace attn::app
