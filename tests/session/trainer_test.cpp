#include "app/session/training/trainer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <thread>

#include "engine/io/folder_lock.hpp"
#include "engine/train/long_curve.hpp"
#include "engine/train/run_folder.hpp"
#include "tests/support/fake_run.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app {
namespace {

using test::fake_engine;
using test::fake_settings;
using test::FakeTraining;

/// A trainer and its report.
struct Desk {
    explicit Desk(std::shared_ptr<FakeTraining> with = std::make_shared<FakeTraining>())
        : shared(std::move(with)), trainer(fake_engine(shared), [] {}) {
        trainer.update(report);
    }
    void settle() {
        trainer.wait();
        trainer.update(report);
    }
    const RunStatus& now() const { return *report.status; }

    std::shared_ptr<FakeTraining> shared;
    TrainingReport report;
    Trainer trainer;
};

/// "" if the losses are those of steps 1..n, each once and in order, up to the snapshot's step for the current run.
std::string fault_of(const TrainingReport& report) {
    for (const RunCurves& curves : report.runs) {
        for (std::size_t i = 0; i < curves.losses.size(); ++i)
            if (curves.losses[i].step != static_cast<std::int64_t>(i) + 1)
                return "run " + std::to_string(curves.run) + ": place " + std::to_string(i) + " has step " +
                       std::to_string(curves.losses[i].step);
        for (std::size_t i = 0; i < curves.validations.size(); ++i)
            if (curves.validations[i].step != 5 * static_cast<std::int64_t>(i)) return "a validation is missing or there twice";
        for (std::size_t i = 1; i < curves.heads.size(); ++i)
            if (curves.heads[i - 1].step >= curves.heads[i].step) return "head scores are out of order";
        for (const HeadPoint& point : curves.heads)
            if (point.scores.at(0).entropy != static_cast<double>(point.step)) return "head scores of another moment";
    }
    for (std::size_t i = 1; i + 1 < report.runs.size(); ++i)
        if (report.runs[i - 1].run >= report.runs[i].run) return "runs are out of order";
    const RunStatus& now = *report.status;
    if (now.run == 0) return report.runs.empty() ? "" : "curves of no run";
    if (report.runs.empty() || report.runs.back().run != now.run) return "the last curves are not those of the run under way";
    if (static_cast<std::int64_t>(report.runs.back().losses.size()) != now.step) return "the curves end at another step than the snapshot";
    if (now.parameters_step > now.step) return "parameters from the future";
    if (now.parameters->data()[0] != static_cast<float>(now.parameters_step) && now.parameters_step > 0) return "other parameters";
    if (now.moments.empty() || now.moments.front() != 0 || now.moments.back() < now.parameters_step) return "a moment is missing";
    if (now.history_bytes > now.history_budget) return "the history is beyond its budget";
    return "";
}

TEST(Trainer, IsIdleAtFirst) {
    Desk desk;
    EXPECT_EQ(desk.now().phase, TrainingPhase::Idle);
    EXPECT_EQ(desk.now().run, 0U);
    EXPECT_TRUE(desk.report.runs.empty());
    desk.trainer.send(command::PauseTraining{});
    desk.trainer.send(command::SetRun{fake_settings()});
    desk.settle();
    EXPECT_EQ(desk.now().phase, TrainingPhase::Idle);
}

TEST(Trainer, TrainsUntilTheStopCondition) {
    Desk desk;
    desk.trainer.send(command::StartTraining{}, fake_settings(1003));
    desk.settle();
    EXPECT_EQ(desk.now().phase, TrainingPhase::Finished);
    EXPECT_EQ(desk.now().message, "1003 steps done");
    EXPECT_EQ(desk.now().step, 1003);
    EXPECT_EQ(desk.now().parameters_step, 1003);
    EXPECT_EQ(desk.now().probe, "abca");
    EXPECT_EQ(desk.now().vocabulary, (std::vector<std::string>{"a", "b", "c"}));
    EXPECT_EQ(fault_of(desk.report), "");
    EXPECT_EQ(desk.report.runs.at(0).heads.front().step, 0);
    EXPECT_EQ(desk.report.runs.at(0).heads.back().step, 1003);
    EXPECT_GT(desk.now().ms_per_step, 0);
    EXPECT_GT(desk.now().tokens_per_second, 0);
}

TEST(Trainer, GoesOnAfterAStopConditionWhenItIsMovedAway) {
    Desk desk;
    desk.trainer.send(command::StartTraining{}, fake_settings(10));
    desk.trainer.send(command::StartTraining{}, fake_settings(20));
    desk.settle();
    EXPECT_EQ(desk.now().step, 20);
    EXPECT_EQ(desk.now().run, 1U);
    desk.trainer.send(command::StartTraining{}, fake_settings(20));
    desk.settle();
    EXPECT_EQ(desk.now().phase, TrainingPhase::Finished);
    EXPECT_EQ(desk.now().step, 20);
    EXPECT_EQ(fault_of(desk.report), "");
}

TEST(Trainer, IsOverAsLongAsAStopConditionIsMet) {
    Desk desk;
    desk.trainer.send(command::StartTraining{}, fake_settings(20));
    desk.settle();
    const auto expect_after = [&](std::int64_t steps, TrainingPhase phase, const char* message) {
        desk.trainer.send(command::SetRun{fake_settings(steps)});
        desk.settle();
        EXPECT_EQ(desk.now().phase, phase) << steps;
        EXPECT_EQ(desk.now().message, message);
        EXPECT_EQ(desk.now().step, 20);
    };
    expect_after(10, TrainingPhase::Finished, "20 steps done");
    expect_after(30, TrainingPhase::Paused, "");
    expect_after(20, TrainingPhase::Finished, "20 steps done");
    EXPECT_EQ(fault_of(desk.report), "");
}

TEST(Trainer, DoesNotRunWhereNothingWouldBeLearned) {
    Desk desk;
    const auto settings = [](std::int64_t steps, std::int64_t total) {
        RunSettings run = fake_settings(steps);
        run.train.schedule.total_steps = total;  // where the rate is 0
        return run;
    };
    desk.trainer.send(command::StartTraining{}, settings(1000, 1000));
    desk.settle();
    ASSERT_EQ(desk.now().step, 1000);
    desk.trainer.send(command::StepTraining{}, settings(1000, 1000));
    desk.settle();
    EXPECT_EQ(desk.now().phase, TrainingPhase::Finished);
    EXPECT_EQ(desk.now().step, 1000);
    const std::string why = "nothing would be learned: the learning rate is 0 from step 1001 on";
    EXPECT_EQ(desk.now().message, "1000 steps done");
    EXPECT_EQ(desk.now().notice.rfind(why, 0), 0U) << desk.now().notice;
    desk.trainer.send(command::StartTraining{}, settings(1010, 1000));
    desk.settle();
    EXPECT_EQ(desk.now().phase, TrainingPhase::Paused);
    EXPECT_EQ(desk.now().step, 1000);
    EXPECT_EQ(desk.now().message.rfind(why, 0), 0U) << desk.now().message;
    desk.trainer.send(command::StartTraining{}, settings(1010, 1010));
    desk.settle();
    EXPECT_EQ(desk.now().phase, TrainingPhase::Finished);
    EXPECT_EQ(desk.now().step, 1010);
    RunSettings idle = fake_settings(10);
    idle.train.schedule.rate = 0;
    desk.trainer.send(command::RestartTraining{}, idle);
    desk.settle();
    EXPECT_EQ(desk.now().run, 1U) << "the run under way stays";
    EXPECT_EQ(desk.now().notice.rfind("nothing would be learned: the learning rate is 0 from step 1 on", 0), 0U) << desk.now().notice;
    desk.trainer.send(command::ResetTraining{}, idle);
    desk.settle();
    EXPECT_EQ(desk.now().run, 2U) << "a run that waits may get its rate later";
    EXPECT_EQ(fault_of(desk.report), "");
}

TEST(Trainer, MakesSingleSteps) {
    Desk desk;
    for (std::int64_t step = 1; step <= 3; ++step) {
        desk.trainer.send(command::StepTraining{}, fake_settings());
        desk.settle();
        EXPECT_EQ(desk.now().phase, TrainingPhase::Paused);
        EXPECT_EQ(desk.now().step, step);
        EXPECT_EQ(desk.now().parameters_step, step);
        EXPECT_EQ(desk.report.runs.at(0).heads.back().step, step);
    }
    EXPECT_EQ(fault_of(desk.report), "");
}

TEST(Trainer, ANewRunLeavesTheCurvesOfTheOld) {
    Desk desk;
    for (int i = 0; i < 7; ++i) desk.trainer.send(command::StepTraining{}, fake_settings());
    desk.trainer.wait();  // a new run would cancel the step in progress
    desk.trainer.send(command::ResetTraining{}, fake_settings());
    desk.settle();
    EXPECT_EQ(desk.now().run, 2U);
    EXPECT_EQ(desk.now().step, 0);
    EXPECT_EQ(desk.now().phase, TrainingPhase::Paused);
    ASSERT_EQ(desk.report.runs.size(), 2U);
    EXPECT_EQ(desk.report.runs[0].losses.size(), 7U);
    EXPECT_EQ(desk.report.runs[1].losses.size(), 0U);
    desk.trainer.send(command::RestartTraining{}, fake_settings(3));
    desk.settle();
    // The second run made no steps.
    ASSERT_EQ(desk.report.runs.size(), 2U);
    EXPECT_EQ(desk.report.runs[1].run, 3U);
    EXPECT_EQ(desk.report.runs[1].losses.size(), 3U);
    EXPECT_EQ(fault_of(desk.report), "");
}

TEST(Trainer, KeepsRunsThatOthersHaveTakenThePlaceOf) {
    Desk desk;
    desk.trainer.send(command::StartTraining{}, fake_settings(7));
    desk.settle();
    desk.trainer.send(command::RestartTraining{}, fake_settings(3));
    desk.settle();
    EXPECT_EQ(desk.now().run, 2U);
    ASSERT_EQ(desk.now().kept.size(), 1U);
    EXPECT_EQ(desk.now().kept[0].run, 1U);
    EXPECT_EQ(desk.now().kept[0].step, 7);
    EXPECT_EQ(desk.now().kept[0].phase, TrainingPhase::Finished);
    EXPECT_TRUE(desk.now().kept[0].unsaved());
    EXPECT_EQ(desk.trainer.moment(1, 4).step, 4) << "its moments are there, too";
    EXPECT_EQ(desk.trainer.moment(1, 4).parameters->data()[0], 4);

    desk.trainer.send(command::ChooseRun{1});
    desk.settle();
    EXPECT_EQ(fault_of(desk.report), "");
    EXPECT_EQ(desk.now().run, 1U);
    EXPECT_EQ(desk.now().phase, TrainingPhase::Finished);
    EXPECT_EQ(desk.now().step, 7);
    ASSERT_EQ(desk.now().kept.size(), 1U);
    EXPECT_EQ(desk.now().kept[0].run, 2U);
    desk.trainer.send(command::StartTraining{}, fake_settings(9));
    desk.settle();
    EXPECT_EQ(fault_of(desk.report), "") << "its curves go on where they ended";
    EXPECT_EQ(desk.now().run, 1U);
    EXPECT_EQ(desk.now().step, 9);
    EXPECT_EQ(desk.report.runs.back().losses.size(), 9U);

    desk.trainer.send(command::ForgetRun{2});
    desk.trainer.send(command::ChooseRun{2});
    desk.settle();
    EXPECT_TRUE(desk.now().kept.empty());
    EXPECT_EQ(desk.trainer.moment(2, 1).parameters, nullptr);
    EXPECT_EQ(desk.now().run, 1U) << "what is gone cannot be chosen";
    desk.trainer.send(command::RestartTraining{}, fake_settings(1));
    desk.settle();
    EXPECT_EQ(desk.now().run, 3U) << "no number is given twice";
}

/// The window asks for moments of a run while it becomes the current one again.
TEST(Trainer, ARunThatChangesPlacesKeepsItsMomentsMeanwhile) {
    Desk desk;
    for (int run = 0; run < 2; ++run) {
        desk.trainer.send(command::RestartTraining{}, fake_settings(20));
        desk.settle();
    }
    desk.shared->room_gate.close();
    desk.trainer.send(command::ChooseRun{1});
    desk.shared->room_gate.await_arrival();
    for (const std::uint64_t run : {1U, 2U}) {
        EXPECT_NE(desk.trainer.moment(run, 20).parameters, nullptr) << run;
        EXPECT_EQ(desk.trainer.moment_near(run, 99).step, 20) << run;
    }
    desk.shared->room_gate.open();
    desk.settle();
    EXPECT_EQ(desk.now().run, 1U);
    for (const std::uint64_t run : {1U, 2U}) EXPECT_NE(desk.trainer.moment(run, 20).parameters, nullptr) << run;
}

TEST(Trainer, KeptRunsShareTheMemoryForMoments) {
    Desk desk;
    for (int run = 0; run < 4; ++run) {
        desk.trainer.send(command::RestartTraining{}, fake_settings(30));
        desk.trainer.wait();
    }
    desk.settle();
    ASSERT_EQ(desk.now().kept.size(), 3U);
    for (const KeptRun& kept : desk.now().kept) {
        EXPECT_GE(kept.moments, 2U);
        EXPECT_EQ(desk.trainer.moment(kept.run, 0).step, 0);
        EXPECT_EQ(desk.trainer.moment(kept.run, 30).step, 30);
    }
    History history(1000);
    for (std::int64_t step = 0; step <= 8; ++step) history.add({step, desk.trainer.moment(1, 0).parameters});
    history.limit(1);
    ASSERT_EQ(history.moments().size(), 2U) << "the first and the newest always stay";
    EXPECT_EQ(history.moments().back().step, 8);
}

TEST(Trainer, ANewRunAbandonsTheStepUnderWay) {
    Desk desk;
    desk.shared->step_gate.close();
    desk.trainer.send(command::StartTraining{}, fake_settings(5));
    desk.shared->step_gate.await_arrival();
    desk.trainer.send(command::RestartTraining{}, fake_settings(6));
    desk.shared->step_gate.await_abandoned(1);
    desk.shared->step_gate.open();
    desk.settle();
    EXPECT_EQ(desk.now().step, 6);
    EXPECT_EQ(desk.shared->made, (std::vector<std::int64_t>{0, 6}));
    EXPECT_EQ(fault_of(desk.report), "");
}

TEST(Trainer, LeavesInTheMiddleOfAStep) {
    const auto shared = std::make_shared<FakeTraining>();
    shared->step_gate.close();
    {
        Desk desk(shared);
        desk.trainer.send(command::StartTraining{}, fake_settings());
        shared->step_gate.await_arrival();
    }
    EXPECT_EQ(shared->step_gate.abandoned(), 1);
}

TEST(Trainer, KeepsTheLastFiniteModel) {
    Desk desk;
    desk.shared->bad = 7;
    desk.trainer.send(command::StartTraining{}, fake_settings(10));
    desk.settle();
    EXPECT_EQ(desk.now().phase, TrainingPhase::Failed);
    EXPECT_EQ(desk.now().message, "step 7: layers.0.attention.scores is not finite");
    EXPECT_EQ(desk.now().step, 6);
    EXPECT_EQ(desk.now().parameters_step, 6);
    EXPECT_EQ(desk.now().parameters->data()[0], 6);
    EXPECT_EQ(fault_of(desk.report), "");
    desk.shared->bad = -1;
    desk.trainer.send(command::StartTraining{}, fake_settings(10));
    desk.settle();
    EXPECT_EQ(desk.now().phase, TrainingPhase::Finished);
    EXPECT_EQ(desk.now().message, "10 steps done");
    EXPECT_EQ(fault_of(desk.report), "");
}

TEST(Trainer, SettingsThatCannotBeUsedLeaveTheRunAsItIs) {
    Desk desk;
    RunSettings evil = fake_settings(8);
    evil.batch_size = 666;
    desk.trainer.send(command::StartTraining{}, evil);
    desk.settle();
    EXPECT_EQ(desk.now().phase, TrainingPhase::Failed);
    EXPECT_EQ(desk.now().message, "666 is an evil batch size");
    EXPECT_EQ(desk.now().run, 0U);
    desk.shared->step_gate.close();
    desk.trainer.send(command::StartTraining{}, fake_settings(8));
    desk.shared->step_gate.await_arrival();
    desk.trainer.send(command::SetRun{evil});
    desk.trainer.send(command::RestartTraining{}, evil);
    desk.shared->step_gate.await_abandoned(1);
    desk.shared->step_gate.open();
    desk.settle();
    EXPECT_EQ(desk.now().phase, TrainingPhase::Finished);
    EXPECT_EQ(desk.now().step, 8);
    EXPECT_EQ(desk.now().run, 1U);
    EXPECT_EQ(desk.now().notices, 2U);
    EXPECT_EQ(desk.now().notice, "666 is an evil batch size");
    EXPECT_EQ(fault_of(desk.report), "");
}

TEST(Trainer, HandsOutAndOpensBetweenSteps) {
    Desk desk;
    EXPECT_THROW(desk.trainer.contents(1).get(), Error);
    desk.trainer.send(command::StepTraining{}, fake_settings());
    EXPECT_EQ(desk.trainer.contents(1).get()->checkpoint.steps, 1);
    desk.trainer.saved(1, 1, "good").get();
    desk.settle();
    EXPECT_EQ(desk.now().file, "good");
    EXPECT_EQ(desk.now().saved_step, 1);
    EXPECT_EQ(desk.trainer.open("damaged"), 1U);
    desk.settle();
    EXPECT_EQ(desk.now().notice, "damaged: not a checkpoint");
    ASSERT_EQ(desk.now().opened.size(), 1U);
    EXPECT_EQ(desk.now().opened[0].problem, desk.now().notice);
    EXPECT_EQ(desk.now().notices, 1U);
    EXPECT_EQ(desk.now().run, 1U);
    EXPECT_EQ(desk.now().phase, TrainingPhase::Paused);
    desk.trainer.open("good");
    desk.settle();
    EXPECT_EQ(desk.now().run, 2U);
    EXPECT_EQ(desk.now().phase, TrainingPhase::Paused);
    EXPECT_TRUE(desk.now().from_file);
    EXPECT_EQ(desk.now().opened.back().run, 2U);
    EXPECT_EQ(desk.now().notices, 2U);
    // A run that was replaced can still be saved.
    EXPECT_EQ(desk.trainer.contents(1).get()->checkpoint.steps, 1);
    desk.trainer.saved(1, 1, "elsewhere").get();
    desk.settle();
    ASSERT_EQ(desk.now().kept.size(), 1U);
    EXPECT_EQ(desk.now().kept[0].file, "elsewhere");
    EXPECT_EQ(fault_of(desk.report), "");
}

/// What else is said about a new run must not be followed by the news that it was opened.
TEST(Trainer, TellsOfAnOpenedRunTogetherWithIt) {
    Desk desk;
    desk.trainer.send(command::StepTraining{}, fake_settings());
    desk.settle();
    desk.shared->heads_gate.close();
    desk.trainer.open("good");
    desk.shared->heads_gate.await_arrival();
    desk.trainer.update(desk.report);
    EXPECT_EQ(desk.now().run, 2U) << "it is shown before its heads are known";
    EXPECT_EQ(desk.now().notices, 1U);
    EXPECT_EQ(desk.now().notice, "Opened good at step 0.");
    desk.shared->heads_gate.open();
    desk.settle();
    EXPECT_EQ(desk.now().notices, 1U);
}

TEST(Trainer, ALongRunKeepsItsNewestPointsAndABoundedNumber) {
    auto shared = std::make_shared<FakeTraining>();
    shared->fast = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t kPart = 26'000, kSteps = 5 * kPart;
    std::shared_ptr<const RunFolder> handed;
    Desk desk(shared);
    desk.trainer.hand_over_to([&](const HandedRun& run) { handed = run.contents; });
    for (std::int64_t stop = kPart; stop <= kSteps; stop += kPart) {
        RunSettings settings = fake_settings(stop);
        settings.evaluate_every = 1'000;
        settings.train.schedule.kind = ScheduleKind::Constant;
        desk.trainer.send(command::StartTraining{}, settings);
        desk.settle();
    }
    const std::vector<LossPoint> losses = desk.report.runs.at(0).losses;
    EXPECT_LT(losses.size(), kMostCurvePoints);
    ASSERT_GT(losses.size(), kMostCurvePoints / 2);
    EXPECT_EQ(losses.front().step, 1);
    EXPECT_EQ(losses.back().step, kSteps);
    for (std::size_t i = 0; i < losses.size(); ++i) {
        ASSERT_EQ(losses[i].loss, 1.0 / static_cast<double>(losses[i].step));
        if (losses.size() - i <= kMostCurvePoints / 2) {
            ASSERT_EQ(losses[i].step, kSteps - static_cast<std::int64_t>(losses.size() - 1 - i));
        }
    }
    EXPECT_EQ(desk.report.runs[0].validations.size(), static_cast<std::size_t>(kSteps / 1'000 + 1));
    ASSERT_NE(handed, nullptr);
    EXPECT_EQ(handed->losses, losses) << "what is saved is what is shown";
    EXPECT_EQ(desk.trainer.moment(1, kSteps).step, kSteps);
    desk.trainer.send(command::ResetTraining{}, fake_settings(1));
    desk.trainer.send(command::ChooseRun{1});
    desk.settle();
    EXPECT_EQ(desk.report.runs.back().losses, losses) << "taken up again as it was left";
}

TEST(Trainer, GivesTheMomentOfAStepOrTheNearest) {
    Desk desk;
    desk.trainer.send(command::StartTraining{}, fake_settings(100));
    desk.settle();
    ASSERT_LT(desk.now().moments.size(), 100U) << "the history was to be thinned out";
    for (std::int64_t step = -1; step <= 120; ++step) {
        const Moment moment = desk.trainer.moment_near(1, step), exact = desk.trainer.moment(1, step);
        EXPECT_EQ(exact.parameters, moment.step == step ? moment.parameters : nullptr) << step;
        std::int64_t distance = 1000;
        for (const std::int64_t kept : desk.now().moments) distance = std::min(distance, std::abs(kept - step));
        EXPECT_EQ(std::abs(moment.step - step), distance);
        if (moment.step == 0) continue;
        EXPECT_EQ(moment.parameters->data()[0], static_cast<float>(moment.step));
    }
    EXPECT_EQ(desk.trainer.moment(2, 5).parameters, nullptr);
    EXPECT_EQ(desk.trainer.moment_near(2, 5).parameters, nullptr);
}

RunSettings faster_settings() {
    RunSettings faster = fake_settings();
    faster.train.schedule.rate = 0.5;
    return faster;
}

TEST(Trainer, AChangeThatIsPutBackAtTheSameStepIsNone) {
    Desk desk;
    const auto changes_after = [&](const RunSettings& settings) {
        desk.trainer.send(command::SetRun{settings});
        desk.settle();
        return desk.report.runs.at(0).changes.size();
    };
    desk.trainer.send(command::StepTraining{}, fake_settings());
    EXPECT_EQ(changes_after(faster_settings()), 1U);
    EXPECT_EQ(changes_after(fake_settings()), 0U);
    EXPECT_EQ(changes_after(faster_settings()), 1U);
    desk.trainer.send(command::StepTraining{}, faster_settings());
    desk.settle();
    EXPECT_EQ(changes_after(fake_settings()), 2U) << "a step was made with the changed settings";
}

/// The lock stands for another process.
TEST(Trainer, AStepOfAFollowedRunTakesOverTheSettings) {
    const test::TemporaryFolder folder;
    const FolderLock other(folder.path());
    Desk desk;
    desk.trainer.open(folder.path());
    desk.settle();
    ASSERT_TRUE(desk.now().followed);
    desk.trainer.send(command::StepTraining{}, faster_settings());
    desk.settle();
    EXPECT_FALSE(desk.now().followed);
    EXPECT_EQ(desk.now().settings.train.schedule.rate, 0.5);
}

TEST(Trainer, ANameGivenToAFollowedRunIsNotSavedByItsNextSteps) {
    const test::TemporaryFolder folder;
    std::optional<FolderLock> other(std::in_place, folder.path());
    const auto shared = std::make_shared<FakeTraining>();
    std::int64_t steps = 3;
    TrainingEngine engine = fake_engine(shared);
    engine.open = [&](const std::filesystem::path&) { return std::make_unique<test::FakeRun>(fake_settings(), shared, ++steps); };
    TrainingReport report;
    Trainer trainer(engine, [] {});
    const auto settle = [&] {
        trainer.wait();
        trainer.update(report);
    };
    trainer.open(folder.path());
    trainer.send(command::RenameRun{1, "mine"});
    settle();
    ASSERT_TRUE(report.status->followed);
    other.reset();
    for (int i = 0; i < 1000 && report.status->followed; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        settle();
    }
    EXPECT_EQ(report.status->step, 5);
    EXPECT_EQ(report.status->name, "mine");
    EXPECT_NE(report.status->saved_step, report.status->step);
}

TEST(Trainer, TheCheckOfTheCurvesFindsWhatIsWrong) {
    Desk desk;
    desk.trainer.send(command::StartTraining{}, fake_settings(12));
    desk.settle();
    ASSERT_EQ(fault_of(desk.report), "");
    const auto spoiled = [&](auto spoil) {
        TrainingReport report = desk.report;
        spoil(report.runs.at(0));
        return fault_of(report);
    };
    EXPECT_NE(spoiled([](RunCurves& c) { c.losses.erase(c.losses.begin() + 3); }), "");
    EXPECT_NE(spoiled([](RunCurves& c) { c.losses.pop_back(); }), "");
    EXPECT_NE(spoiled([](RunCurves& c) { c.losses.push_back(c.losses.back()); }), "");
    EXPECT_NE(spoiled([](RunCurves& c) { c.losses.insert(c.losses.begin() + 2, c.losses[1]); }), "");
    EXPECT_NE(spoiled([](RunCurves& c) { c.validations.erase(c.validations.begin()); }), "");
    EXPECT_NE(spoiled([](RunCurves& c) { c.heads.push_back(c.heads.front()); }), "");
    EXPECT_NE(spoiled([](RunCurves& c) { c.heads.front().scores[0].entropy = 4; }), "");
    EXPECT_NE(spoiled([](RunCurves& c) { c.run = 9; }), "");
}

// Random orders in any sequence; also run under the thread sanitizer.
TEST(Trainer, BearsThousandsOfOrdersInAnyOrder) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        std::mt19937 random(seed);
        const auto pick = [&](int below) { return std::uniform_int_distribution<int>(0, below - 1)(random); };
        Desk desk;
        // Points seen of a run must not change.
        std::map<std::uint64_t, std::vector<LossPoint>> seen;
        std::uint64_t serial = 0;
        for (int i = 0; i < 500; ++i) {
            const RunSettings settings = fake_settings(pick(3) == 0 ? 0 : pick(300));
            switch (pick(9)) {
            case 0:
            case 1:
                desk.trainer.send(command::StartTraining{}, settings);
                break;
            case 2:
                desk.trainer.send(command::PauseTraining{});
                break;
            case 3:
                desk.trainer.send(command::StepTraining{}, settings);
                break;
            case 4:
                desk.trainer.send(command::ResetTraining{}, settings);
                break;
            case 5:
                desk.trainer.send(command::RestartTraining{}, settings);
                break;
            case 6:
                desk.trainer.send(command::SetRun{settings});
                break;
            case 7:
                if (pick(2) == 0) {
                    desk.trainer.contents(desk.now().run);
                } else {
                    desk.trainer.open(pick(2) == 0 ? "file" : "damaged");
                }
                break;
            default:
                if (pick(2) == 0) std::this_thread::sleep_for(std::chrono::microseconds(pick(2000)));
                if (pick(4) == 0) {
                    desk.trainer.send(command::PauseTraining{});
                    desk.settle();
                    ASSERT_NE(desk.now().phase, TrainingPhase::Running);
                }
            }
            if (pick(3) == 0) desk.trainer.update(desk.report);
            ASSERT_EQ(fault_of(desk.report), "") << "seed " << seed << ", order " << i;
            ASSERT_GE(desk.now().serial, serial);
            serial = desk.now().serial;
            for (const RunCurves& curves : desk.report.runs) {
                std::vector<LossPoint>& before = seen[curves.run];
                ASSERT_GE(curves.losses.size(), before.size());
                before.assign(curves.losses.begin(), curves.losses.end());
            }
        }
        desk.trainer.send(command::PauseTraining{});
        desk.settle();
        ASSERT_EQ(fault_of(desk.report), "");
        // Every step of every run is in its curve.
        const std::lock_guard lock(desk.shared->mutex);
        ASSERT_EQ(desk.now().run, desk.shared->made.size());
        for (std::size_t run = 0; run < desk.shared->made.size(); ++run) {
            const auto curves =
                std::find_if(desk.report.runs.begin(), desk.report.runs.end(), [&](const RunCurves& c) { return c.run == run + 1; });
            const std::size_t shown = curves == desk.report.runs.end() ? 0 : curves->losses.size();
            ASSERT_EQ(shown, static_cast<std::size_t>(desk.shared->made[run])) << "seed " << seed << ", run " << run + 1;
        }
    }
}

}  // namespace
}  // namespace attn::app
