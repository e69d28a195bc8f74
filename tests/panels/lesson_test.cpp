/// Lessons in the window: keys, strip, what is given back. Real session, simulated keyboard and mouse.

#include "app/panels/lessons/lesson_player.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "app/panels/frame.hpp"
#include "app/panels/navigation.hpp"
#include "app/session/presets.hpp"
#include "app/session/session.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"

namespace attn::app::test {
namespace {

class LessonTest : public InterfaceFixture {
protected:
    LessonTest() { open_example("multi-head"); }
    void draw() override {
        InterfaceFixture::draw();
        with_context([this](const PanelContext& context) { changed = lesson_step_is_changed(context); });
    }
    void open(const char* name) {
        open_lesson(view, session->document(), find_lesson(name));
        frames(4, ui_frame);
    }
    void press_and_settle(Key key) {
        press(key, ui_frame);
        frames(4, ui_frame);
    }
    const LessonStep& step() const { return view.lesson.shown(); }

    bool changed = false;
};

TEST_F(LessonTest, ArrowsAndPresenterKeysWalkThroughTheSteps) {
    open("masks");
    EXPECT_EQ(session->document(), [&] {
        Document expected = step().document;
        expected.run = session->document().run;
        return expected;
    }());
    EXPECT_EQ(view.stage, (StageId{Stage::Weights, 0}));
    press_and_settle(Key::Right);
    EXPECT_EQ(view.lesson.step, 1U);
    EXPECT_EQ(view.stage, (StageId{Stage::Masked, 0}));
    EXPECT_EQ(view.locked.on(Axis::S), 7);
    press_and_settle(Key::PageDown);
    press_and_settle(Key::PageDown);
    EXPECT_EQ(view.lesson.step, 3U);
    EXPECT_EQ(view.compare.source, Compare::Unmasked);
    press_and_settle(Key::PageUp);
    EXPECT_EQ(view.lesson.step, 2U);
    EXPECT_FALSE(view.compare.on());
    press_and_settle(Key::Left);
    EXPECT_EQ(view.lesson.step, 1U);
    press_and_settle(Key::End);
    EXPECT_EQ(view.lesson.step + 1, view.lesson.lesson->steps.size());
    press_and_settle(Key::Right);
    EXPECT_EQ(view.lesson.step + 1, view.lesson.lesson->steps.size()) << "the last step has none after it";
    press_and_settle(Key::Home);
    EXPECT_EQ(view.lesson.step, 0U);
    press_and_settle(Key::Left);
    EXPECT_EQ(view.lesson.step, 0U);
    EXPECT_FALSE(changed);
}

TEST_F(LessonTest, AStepThatCannotBeComputedLetsTheViewGo) {
    const Lesson bad = parse_lesson(
        R"({"name": "bad", "title": "Bad", "steps": [
            {"title": "One", "preset": "causal-attention", "config": {"context_length": 2}, "stage": "q", "caption": "Too long."}]})",
        "bad");
    open_lesson(view, session->document(), std::make_shared<const Lesson>(bad));
    frames(6, ui_frame);
    ASSERT_NE(session->snapshot()->problem, "");
    EXPECT_FALSE(view.lesson.look_pending);
    view.view = View::Heads;
    frames(3, ui_frame);
    EXPECT_EQ(view.view, View::Heads) << "the person may look elsewhere";
}

TEST_F(LessonTest, ArrowsBelongToTheStagesAgainAfterTheLesson) {
    view.stage = {Stage::Scores, 0};
    view.panes.strip = false;
    const Document before = session->document();
    const AxisSelection cell = view.locked;
    open("many-heads");
    press_and_settle(Key::Right);
    EXPECT_EQ(view.view, View::Heads);
    EXPECT_TRUE(view.panes.strip);
    press_and_settle(Key::Escape);
    EXPECT_FALSE(view.lesson.open());
    EXPECT_EQ(session->document(), before);
    EXPECT_EQ(view.stage, (StageId{Stage::Scores, 0}));
    EXPECT_EQ(view.locked, cell);
    EXPECT_FALSE(view.panes.strip);
    press(Key::Right, ui_frame);
    EXPECT_EQ(view.stage, (StageId{Stage::Scaled, 0}));
    EXPECT_EQ(view.view, View::Step);
    open("many-heads");
    EXPECT_EQ(view.lesson.step, 1U) << "a lesson left in its midst goes on there";
}

TEST_F(LessonTest, TheLearnerChangesThingsAndResetsThem) {
    open("masks");
    press_and_settle(Key::Right);
    type("c", ui_frame);
    frames(3, ui_frame);
    EXPECT_FALSE(session->document().forward.masks.causal);
    EXPECT_TRUE(changed);
    press_and_settle(Key::Backspace);
    EXPECT_TRUE(session->document().forward.masks.causal);
    EXPECT_FALSE(changed);
    type("h", ui_frame);
    EXPECT_EQ(view.view, View::Heads);
    EXPECT_TRUE(changed);
    press_and_settle(Key::Right);
    EXPECT_EQ(view.view, View::Step) << "the next step goes on from the lesson, not from the change";
    hold_modifiers(false, true);
    press(Key::Right, ui_frame);
    hold_modifiers(false, false);
    EXPECT_EQ(view.lesson.step, 2U) << "Shift and arrows still move the cell";
    EXPECT_EQ(view.locked.on(Axis::S), 3);
}

TEST_F(LessonTest, ControlsThatDistractAreLeftOut) {
    view.toured = true;  // without the button below them the settings have the pane for themselves
    frames(3, ui_frame);
    const auto visible = [&](const char* id) {
        return find_item(
                   "##settings", {id},
                   [this](float x, float y) {
                       move_mouse(x, y);
                       frame(ui_frame);
                   },
                   60, 12)
            .has_value();
    };
    ASSERT_TRUE(visible("Causal"));
    ASSERT_TRUE(find_item(
                    "##settings", {"temperature", "track"},
                    [this](float x, float y) {
                        move_mouse(x, y);
                        frame(ui_frame);
                    },
                    60, 6)
                    .has_value());
    open("masks");
    EXPECT_TRUE(visible("Causal"));
    EXPECT_FALSE(find_item(
                     "##settings", {"temperature", "track"},
                     [this](float x, float y) {
                         move_mouse(x, y);
                         frame(ui_frame);
                     },
                     60, 6)
                     .has_value());
}

/// Every step at four sizes: the strip lies above the picture, covers nothing, and holds its sentences.
TEST_F(LessonTest, TheStripNeverCoversThePicture) {
    for (const char* name : {"tokens-and-embeddings", "one-head", "masks", "many-heads", "dropout"}) {
        open(name);
        for (std::size_t i = 0; i < view.lesson.lesson->steps.size(); ++i) {
            go_to_lesson_step(view, i);
            for (const ImVec2 size : {ImVec2(1600, 1000), ImVec2(1280, 720), ImVec2(900, 600), ImVec2(90, 60)}) {
                ImGui::GetIO().DisplaySize = size;
                for (const bool alone : {false, true}) {
                    view.panes.only_centre = alone;
                    frames(3, ui_frame);
                    const ImGuiWindow* strip = find_window("##lesson");
                    const ImGuiWindow* picture = find_window("##centre");
                    if (size.x < 800) continue;
                    ASSERT_NE(strip, nullptr);
                    ASSERT_NE(picture, nullptr);
                    EXPECT_LE(strip->Pos.y + strip->Size.y, picture->Pos.y);
                    EXPECT_LE(strip->ContentSize.y, strip->Size.y) << name << " " << i << " at " << size.x;
                    EXPECT_GT(picture->Size.y, size.y * 0.3F) << name << " " << i << " at " << size.x;
                }
            }
        }
        view.panes.only_centre = false;
        ImGui::GetIO().DisplaySize = ImVec2(1600, 1000);
    }
}

TEST_F(LessonTest, TheTrainingLessonTrainsWhileItIsShown) {
    instant = false;
    open("watch-a-head-form");
    const auto becomes = [&](const auto& condition) {
        for (int i = 0; i < 20000; ++i) {
            frame(ui_frame);
            if (condition()) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return false;
    };
    ASSERT_TRUE(becomes([&] { return view.lesson.goal.done() && !view.lesson.look_pending; }));
    EXPECT_EQ(session->snapshot()->trained_step, 0);
    EXPECT_EQ(view.stage, (StageId{Stage::Weights, 0}));
    press(Key::Right, ui_frame);
    ASSERT_TRUE(becomes([&] { return session->training().snapshot->step > 5; }));
    EXPECT_EQ(view.view, View::Train);
    press(Key::Escape, ui_frame);
    ASSERT_TRUE(becomes([&] { return session->training().snapshot->phase != TrainingPhase::Running; }));
    EXPECT_FALSE(session->document().trained.has_value());
    EXPECT_EQ(session->document().preset, "multi-head");
}

}  // namespace
}  // namespace attn::app::test
