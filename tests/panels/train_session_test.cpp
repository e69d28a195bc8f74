/// A training run controlled through the real panels with mouse and keyboard.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "app/panels/frame/frame.hpp"
#include "app/panels/train/train_transport.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/numbers/number_desk.hpp"
#include "app/session/session.hpp"
#include "app/session/values/knock_out.hpp"
#include "app/session/values/readings.hpp"
#include "tests/support/imgui_fixture.hpp"
#include "tests/support/item_finder.hpp"
#include "tests/support/trained_session.hpp"

namespace attn::app::test {
namespace {

using namespace std::chrono_literals;

class TrainSessionTest : public ImGuiFixture {
protected:
    TrainSessionTest() {
        contents_have_windows = true;
        Document document = open_preset("causal-attention");
        RunSettings run = default_run(TaskKind::Copy);
        run.task.length = 4;
        run.task.symbols = 6;
        run.model.d_model = 16;
        run.model.num_heads = 2;
        run.model.num_layers = 1;
        run.model.d_ff = 32;
        run.batch_size = 8;
        run.stop.steps = 1000000;  // ends only on request
        document.run = run;
        session = std::make_unique<Session>(document, [] {});
        session->wait();
        view.view = View::Train;
        frames(2, ui_frame);
    }

    void draw() {
        session->update();
        const auto snapshot = session->snapshot();
        CommandSink sink;
        const States states = session->states();
        Inquiry inquiry(session->results());
        number_store.begin_frame();
        PanelContext context{{.theme = theme,
                              .canvas = canvas,
                              .document = session->document(),
                              .inquiry = inquiry,
                              .training = session->training(),
                              .view = view,
                              .number_store = number_store,
                              .commands = sink,
                              .now = now,
                              .can_undo = session->can_undo(),
                              .can_redo = session->can_redo(),
                              .message = session->message()},
                             *snapshot,
                             states};
        draw_frame(context);
        session->want(inquiry.wanted());
        for (const Command& command : sink) session->apply(command);
        now += 1.0 / 60;
    }
    const RunStatus& run() const { return *session->training().status; }
    const RunCurves& curves() const { return session->training().runs.back(); }

    /// Draws frames until the condition holds; false after half a minute.
    template <class Condition>
    bool becomes(const Condition& condition) {
        const auto end = std::chrono::steady_clock::now() + 30s;
        while (std::chrono::steady_clock::now() < end) {
            frame(ui_frame);
            if (condition()) return true;
            std::this_thread::sleep_for(1ms);
        }
        return false;
    }
    ImVec2 find(std::string_view window, std::initializer_list<const char*> path) {
        const auto hover = [this](float x, float y) {
            move_mouse(x, y);
            frame(ui_frame);
        };
        const std::optional<ImVec2> at = find_item(window, path, hover, 40);
        EXPECT_TRUE(at.has_value()) << *path.begin() << " is not on screen";
        return at.value_or(ImVec2(0, 0));
    }

    std::function<void()> ui_frame = [this] { draw(); };
    std::unique_ptr<Session> session;
    ViewState view;
    NumberStore number_store;
    double now = 0;
};

TEST_F(TrainSessionTest, KnockOutCountsWhatTheTaskAsksFor) {
    const ImVec2 start = find("##loss", {"Start##invitation"});
    click(start.x, start.y, ui_frame);
    ASSERT_TRUE(becomes([&] { return run().step > 20 && session->snapshot()->trained_step.value_or(0) > 0; }));
    press(Key::Space, ui_frame);
    ASSERT_TRUE(becomes([&] { return run().phase == TrainingPhase::Paused; }));
    const std::vector<std::uint8_t>& asked = session->snapshot()->asked;
    EXPECT_NE(std::count(asked.begin(), asked.end(), 0), 0);
    EXPECT_NE(std::count(asked.begin(), asked.end(), 1), 0);
    view.view = View::KnockOut;
    const facet::KnockOut worth{KnockOutQuestion{{}, asked, view.batch}};
    EXPECT_TRUE(becomes([&] { return bool(session->results().find(session->states().shown, worth)); }));
}

TEST_F(TrainSessionTest, StartPauseRewindAndComeBack) {
    const ImVec2 start = find("##loss", {"Start##invitation"});
    click(start.x, start.y, ui_frame);
    ASSERT_TRUE(becomes([&] { return run().step > 60 && session->snapshot()->trained_step.value_or(0) > 0; }));
    EXPECT_EQ(run().phase, TrainingPhase::Running);
    EXPECT_FALSE(canvas.calls.empty()) << "the attention of the model in training is drawn";
    press(Key::Space, ui_frame);
    ASSERT_TRUE(becomes([&] { return run().phase == TrainingPhase::Paused; }));
    const std::int64_t newest = run().step;
    ASSERT_EQ(static_cast<std::int64_t>(curves().losses.size()), newest);
    for (std::int64_t i = 0; i < newest; ++i) ASSERT_EQ(curves().losses[static_cast<std::size_t>(i)].step, i + 1);

    const ImVec2 slider = find("##history", {"##moment"});
    const ImGuiWindow* window = find_window("##history");
    drag({window->Pos.x + window->Size.x / 3, slider.y}, {window->Pos.x + 20, slider.y}, ui_frame);
    ASSERT_TRUE(session->document().trained.has_value());
    EXPECT_EQ(session->document().trained->step, 0);
    ASSERT_TRUE(becomes([&] { return session->snapshot()->trained_step == 0; }));
    const float untrained = session->snapshot()->trace->find({Stage::Weights, 0})->value.values()[5 * 8];
    press(Key::End, ui_frame);
    ASSERT_TRUE(becomes([&] { return session->snapshot()->trained_step == newest; }));
    EXPECT_NE(session->snapshot()->trace->find({Stage::Weights, 0})->value.values()[5 * 8], untrained);
}

TEST_F(TrainSessionTest, TheRateAppliesToTheRunAndAnotherModelRestarts) {
    view.settings.folded = {"run list"};
    press(Key::Space, ui_frame);
    ASSERT_TRUE(becomes([&] { return run().step > 20; }));
    const ImVec2 rate = find("##train_scroll", {"learning rate", "track"});
    drag({rate.x + 30, rate.y}, {rate.x + 60, rate.y}, ui_frame);
    const double chosen = session->document().run.train.schedule.rate;
    ASSERT_NE(chosen, default_run(TaskKind::Copy).train.schedule.rate);
    ASSERT_TRUE(becomes([&] { return run().settings.train.schedule.rate == chosen; }));
    EXPECT_EQ(run().run, 1U) << "the same run goes on";

    view.settings.folded.insert("run optimizer");
    const ImVec2 layers = find("##train_scroll", {"layers", "track"});
    drag({layers.x, layers.y}, {layers.x + 40, layers.y}, ui_frame);
    ASSERT_GT(session->document().run.model.num_layers, 1);
    EXPECT_EQ(run().settings.model.num_layers, 1);
    const ImVec2 apply = find("##run", {"Start a new run##start"});
    click(apply.x, apply.y, ui_frame);
    ASSERT_TRUE(becomes([&] { return run().run == 2 && run().step > 5; }));
    EXPECT_EQ(run().settings.model.num_layers, session->document().run.model.num_layers);
    ASSERT_EQ(session->training().runs.size(), 2U) << "the curves of the first run stay, to compare with";
    press(Key::Space, ui_frame);
    EXPECT_TRUE(becomes([&] { return run().phase == TrainingPhase::Paused; }));
}

/// At the end of a run, *Start a new run* replaces Pause in the same place; a click meant for one must not trigger the other.
TEST_F(TrainSessionTest, ANewRunStartsAfterTheEndOnlyIfThatIsMeant) {
    RunSettings settings = session->document().run;
    settings.stop = {.steps = 12};
    session->apply({command::SetRun{settings}, ""});
    press(Key::Space, ui_frame);
    ASSERT_TRUE(becomes([&] { return run().phase == TrainingPhase::Finished; }));
    press(Key::Space, ui_frame);
    frames(5, ui_frame);
    session->wait_for_training();
    EXPECT_EQ(run().run, 1U) << "the key says that the run has ended";
    const ImVec2 start = find("##run", {"Start a new run##start"});
    view.train.ended_at = now;
    click(start.x, start.y, ui_frame);
    session->wait_for_training();
    EXPECT_EQ(run().run, 1U) << "the button has only just become another one";
    now += 2;
    click(start.x, start.y, ui_frame);
    ASSERT_TRUE(becomes([&] { return run().run == 2; }));
    ASSERT_TRUE(becomes([&] { return run().phase == TrainingPhase::Finished; }));
    ASSERT_EQ(run().kept.size(), 1U);
    EXPECT_EQ(run().kept[0].run, 1U);
    EXPECT_GE(run().kept[0].moments, 2U);
}

/// Everything beside the attention belongs to the shown moment, or says which moment it belongs to.
TEST_F(TrainSessionTest, AnswersAreThoseOfTheMomentThatIsShown) {
    RunSettings settings = session->document().run;
    settings.stop = {.steps = 40};
    settings.evaluate_every = 10;
    session->apply({command::SetRun{settings}, ""});
    press(Key::Space, ui_frame);
    ASSERT_TRUE(becomes([&] { return run().phase == TrainingPhase::Finished; }));
    const auto answers_are_of = [&](std::int64_t step) {
        if (session->snapshot()->trained_step != step) return false;
        const auto answers = session->results().find(session->states().shown, held_out(*session));
        return answers && answers->step == step;
    };
    EXPECT_TRUE(becomes([&] { return answers_are_of(40); }));
    session->apply({command::ShowMoment{11}, ""});
    EXPECT_TRUE(becomes([&] { return answers_are_of(11); }));
    press(Key::End, ui_frame);
    EXPECT_TRUE(becomes([&] { return answers_are_of(40); }));
}

}  // namespace
}  // namespace attn::app::test
