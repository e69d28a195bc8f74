/// Runs that branch off another one, runs with names, and a run's best moment.

#include <gtest/gtest.h>

#include <algorithm>

#include "app/session/document/presets.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/trained_session.hpp"

namespace attn::app {
namespace {

class BranchRunTest : public ::testing::Test {
protected:
    const RunStatus& run() const { return *session.training().status; }
    template <class What>
    void command(What what) {
        apply(session, std::move(what));
        session.wait_for_training();
    }
    std::shared_ptr<const Parameters<float>> train_on_to(std::int64_t steps) {
        command(command::SetRun{small_run(steps)});
        command(command::StartTraining{});
        EXPECT_EQ(run().step, steps);
        return run().parameters;
    }

    Session session{open_preset("causal-attention"), no_wake};
};

TEST_F(BranchRunTest, FromTheNewestStepItGoesOnBitForBit) {
    train(session, small_run(24));
    command(command::BranchRun{});
    EXPECT_EQ(run().run, 2U);
    EXPECT_EQ(run().step, 24);
    const auto branch = train_on_to(40);
    command(command::ChooseRun{1});
    EXPECT_TRUE(same_numbers(*branch, *train_on_to(40)));
}

TEST_F(BranchRunTest, FromAnEarlierStepItHasThatStepsModelAndTheChangedSettings) {
    train(session, small_run(24));
    command(command::ShowMoment{10});
    const auto shown = session.wait();
    ASSERT_EQ(shown->trained_step, 10);
    command(command::BranchRun{10});
    EXPECT_EQ(run().phase, TrainingPhase::Paused);
    EXPECT_EQ(run().moments, std::vector<std::int64_t>{10});
    const auto& curves = session.training().runs;
    ASSERT_EQ(curves.size(), 2U);
    EXPECT_EQ(curves.back().origin, (RunOrigin{1, 10}));
    EXPECT_TRUE(curves.back().losses.empty());
    ASSERT_EQ(curves.back().validations.size(), 1U);
    const auto& before = curves.front().validations;
    const auto at_ten = std::find_if(before.begin(), before.end(), [](const ValidationPoint& point) { return point.step == 10; });
    ASSERT_NE(at_ten, before.end());
    EXPECT_EQ(curves.back().validations[0].loss, at_ten->loss) << "the same model";
    RunSettings slower = small_run(24);
    slower.train.schedule.rate = 1e-4;
    command(command::SetRun{slower});
    command(command::StartTraining{});
    EXPECT_EQ(run().step, 24);
    EXPECT_EQ(curves.back().losses.front().step, 11);
    ASSERT_EQ(curves.back().changes.size(), 1U);
    EXPECT_EQ(curves.back().changes[0].step, 10);
    EXPECT_EQ(curves.back().changes[0].settings.train.schedule.rate, 1e-4);
    ASSERT_EQ(run().kept.size(), 1U);
    EXPECT_EQ(run().kept[0].step, 24) << "the run before is kept as it was";
}

TEST_F(BranchRunTest, WithoutAStepOfItsOwnItIsKeptAndUnsaved) {
    train(session, small_run(24));
    command(command::BranchRun{});
    EXPECT_NE(run().saved_step, run().step) << "no file has it";
    command(command::RestartTraining{});
    const auto& curves = session.training().runs;
    ASSERT_EQ(curves.size(), 3U);
    EXPECT_EQ(curves[1].run, 2U);
    EXPECT_EQ(curves[1].origin, (RunOrigin{1, 24}));
    EXPECT_EQ(curves[1].validations.size(), 1U);
    ASSERT_EQ(run().kept.size(), 2U);
    EXPECT_TRUE(run().kept[1].unsaved());
}

TEST_F(BranchRunTest, ANameFromAFileIsShortAndWithoutControlCharacters) {
    const test::TemporaryFolder folder;
    train(session);
    command(command::RenameRun{1, "a\nb" + std::string(100, 'x')});
    save_run(session, folder / "run");
    Session other(open_preset(kDefaultPreset), no_wake);
    apply(other, command::OpenCheckpoint{folder / "run"});
    other.wait_for_training();
    EXPECT_EQ(other.training().status->name, "a\\x0Ab" + std::string(57, 'x') + "…");
}

TEST_F(BranchRunTest, ANameIsSavedWithTheRun) {
    const test::TemporaryFolder folder;
    train(session);
    save_run(session, folder / "run");
    ASSERT_EQ(run().saved_step, 24);
    command(command::RenameRun{1, "my first"});
    EXPECT_EQ(run().name, "my first");
    EXPECT_EQ(session.training().runs[0].name, "my first");
    EXPECT_NE(run().saved_step, run().step) << "its folder does not have it yet";
    save_run(session, folder / "run");
    Session other(open_preset("causal-attention"), no_wake);
    apply(other, command::OpenCheckpoint{folder / "run"});
    other.wait_for_training();
    EXPECT_EQ(other.training().status->name, "my first");
    apply(other, command::RestartTraining{});
    other.wait_for_training();
    ASSERT_EQ(other.training().status->kept.size(), 1U);
    EXPECT_EQ(other.training().status->kept[0].name, "my first");
    EXPECT_EQ(other.training().status->name, "");
}

TEST_F(BranchRunTest, TheStepWithTheLowestHeldOutLossIsKeptWhateverTheBudget) {
    command(command::SetHistoryBudget{0.02});
    RunSettings settings = small_run(200);
    settings.evaluate_every = 7;
    settings.train.schedule = {.rate = 0.3};  // so large that the loss rises again
    train(session, settings);
    const auto& points = session.training().runs[0].validations;
    const auto is_lower = [](const ValidationPoint& a, const ValidationPoint& b) { return a.loss < b.loss; };
    const std::int64_t best = std::min_element(points.begin(), points.end(), is_lower)->step;
    ASSERT_GT(best, 0);
    ASSERT_LT(best, 200);
    const auto& moments = run().moments;
    EXPECT_LT(moments.size(), 40U) << "others were dropped";
    EXPECT_TRUE(std::binary_search(moments.begin(), moments.end(), best));
}

}  // namespace
}  // namespace attn::app
