/// Lessons in the window: keys, strip, and what is restored. Real session, simulated keyboard and mouse.

#include "app/panels/lessons/lesson_player.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "app/panels/frame/frame.hpp"
#include "app/panels/kit/look.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/lessons/quoted_cells.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "app/widgets/text.hpp"
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
    EXPECT_EQ(view.lesson.step, 2U) << "a presenter's remote shows what is asked without a guess";
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

/// What the settings keep of it is as good as having closed it.
TEST_F(LessonTest, ALessonThatWasOpenAtTheEndGoesOnWhereItWas) {
    view.lesson.left_at = {{"scaling-and-softmax", 1}};
    open("masks");
    press_and_settle(Key::Right);
    const std::map<std::string, std::size_t> kept = lessons_left(view.lesson);
    EXPECT_EQ(kept, (std::map<std::string, std::size_t>{{"masks", 1}, {"scaling-and-softmax", 1}}));
    press_and_settle(Key::End);
    EXPECT_FALSE(lessons_left(view.lesson).contains("masks")) << "it is finished";
    view = ViewState();
    view.lesson.left_at = kept;
    open("masks");
    EXPECT_EQ(view.lesson.step, 1U);
    EXPECT_EQ(view.stage, (StageId{Stage::Masked, 0}));
    view = ViewState();
    view.lesson.left_at = {{"masks", 1000}};
    open("masks");
    EXPECT_EQ(view.lesson.step, 0U) << "it has no such step";
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

/// Whatever a place consists of, a view that turns to it shows it.
TEST(Look, TurningToAPlaceIsBeingThere) {
    Look look;
    look.view = View::KnockOut;
    look.stage = {Stage::Weights, 2};
    look.head = 3, look.sequence = 1;
    look.cell = {{Axis::T, 4}, {Axis::S, 2}};
    look.gradients = true;
    look.compare = Compare::Unmasked, look.compare_as = CompareLayout::Difference, look.compare_head = 1;
    look.rollout = false, look.up_to = 1;
    look.measure = AnswerMeasure::LogitDifference, look.against = 3, look.replaced = ReplacedParts::Positions, look.replaced_from = 2;
    ViewState view;
    turn_to(view, look);
    EXPECT_EQ(look_of(view), look);
    look_afresh(view, look);
    EXPECT_EQ(look_of(view), look);
    look_afresh(view, Look{});
    EXPECT_EQ(look_of(view), Look{});
}

/// Also where the lesson's model has fewer layers and heads.
TEST_F(LessonTest, LeavingALessonGivesTheLayerAndTheHeadBack) {
    open_example("stories");
    view.view = View::Heads;
    view.stage = {Stage::Weights, 2};
    view.head = 3;
    view.totals.rollout = false;
    view.totals.up_to = 1;
    view.knock_out.measure = AnswerMeasure::Probability;
    frames(4, ui_frame);
    instant = false;
    open("scaling-and-softmax");
    const auto settles = [&] {
        for (int i = 0; i < 2000 && !(view.lesson.given_back == nullptr && !view.lesson.look_pending); ++i) {
            frame(ui_frame);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        session->wait();
        frames(3, ui_frame);
    };
    settles();
    ASSERT_EQ(session->snapshot()->trace->config.num_layers, 1);
    ASSERT_EQ(view.stage.layer, 0);
    press(Key::Escape, ui_frame);
    settles();
    EXPECT_FALSE(view.lesson.open());
    EXPECT_EQ(session->document().preset, "stories");
    EXPECT_FALSE(view.totals.rollout);
    EXPECT_EQ(view.totals.up_to, 1);
    EXPECT_EQ(view.knock_out.measure, AnswerMeasure::Probability);
    EXPECT_EQ(view.view, View::Heads);
    EXPECT_EQ(view.stage, (StageId{Stage::Weights, 2}));
    EXPECT_EQ(view.head, 3);
}

/// One undo after a lesson is one of the user's own steps.
TEST_F(LessonTest, UndoDoesNotLeadIntoALessonThatWasLeft) {
    session->apply({command::SetTexts{{"my own words"}, {}}, ""});
    const Document own = session->document();
    open("masks");
    for (int i = 0; i < 4; ++i) {
        press_and_settle(Key::PageDown);
        type("c", ui_frame);  // a change of the learner's, so that the steps do not join
        frames(3, ui_frame);
    }
    ASSERT_NE(session->document(), own);
    press_and_settle(Key::Escape);
    ASSERT_FALSE(view.lesson.open());
    ASSERT_EQ(session->document(), own);
    control('Z');
    EXPECT_EQ(session->document().preset, "multi-head");
    EXPECT_NE(session->document().texts, own.texts) << "before the user's own change";
    EXPECT_FALSE(session->can_undo());
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
    press_and_settle(Key::Right);
    EXPECT_EQ(view.view, View::Step) << "the next step goes on from the lesson, not from the change";
    hold_modifiers(false, true);
    press(Key::Right, ui_frame);
    hold_modifiers(false, false);
    EXPECT_EQ(view.lesson.step, 2U) << "Shift and arrows still move the cell";
    EXPECT_EQ(view.locked.on(Axis::S), 3);
}

TEST_F(LessonTest, ControlsThatDistractAreLeftOut) {
    view.toured = true;  // hides the card below the settings, which would take space from them
    view.settings.folded = {"what if", "compare"};
    files.recent_models = {"/models/gpt2"};
    frames(3, ui_frame);
    const auto visible = [&](const char* id) {
        return find_item(
                   "##sections", {id},
                   [this](float x, float y) {
                       move_mouse(x, y);
                       frame(ui_frame);
                   },
                   60, 12)
            .has_value();
    };
    ASSERT_TRUE(visible("Causal"));
    ASSERT_TRUE(find_item(
                    "##sections", {"softmax temperature", "track"},
                    [this](float x, float y) {
                        move_mouse(x, y);
                        frame(ui_frame);
                    },
                    60, 6)
                    .has_value());
    open("masks");
    EXPECT_TRUE(visible("Causal"));
    EXPECT_FALSE(find_item(
                     "##sections", {"softmax temperature", "track"},
                     [this](float x, float y) {
                         move_mouse(x, y);
                         frame(ui_frame);
                     },
                     60, 6)
                     .has_value());
}

TEST_F(LessonTest, AQuestionIsAskedOverThePictureOfTheStepBefore) {
    open("masks");
    for (int i = 0; i < 2; ++i) press_and_settle(Key::Right);
    ASSERT_TRUE(view.lesson.asking());
    EXPECT_EQ(view.stage, (StageId{Stage::Masked, 0})) << "the weights would tell";
    EXPECT_EQ(view.locked.on(Axis::S), 7);
    const bool right_pane = view.panes.right;
    type("9", ui_frame);
    type("4", ui_frame);
    EXPECT_TRUE(view.lesson.asking()) << "there are three answers";
    type("2", ui_frame);
    frames(4, ui_frame);
    EXPECT_FALSE(view.lesson.asking());
    EXPECT_EQ(view.panes.right, right_pane) << "the key was the answer's";
    EXPECT_EQ(view.lesson.step, 2U);
    EXPECT_EQ(view.lesson.expected.at(2), 1U);
    EXPECT_EQ(view.stage, (StageId{Stage::Weights, 0}));
    EXPECT_EQ(view.locked.on(Axis::S), 2);
    EXPECT_EQ(right_answer(*step().question, *session->snapshot(), session->training()), 2U);
    type("2", ui_frame);
    EXPECT_EQ(view.panes.right, right_pane) << "a second press hides nothing";
    press_and_settle(Key::Left);
    press_and_settle(Key::Right);
    EXPECT_FALSE(view.lesson.asking()) << "it is asked once";
    press_and_settle(Key::Escape);
    open("masks");
    EXPECT_EQ(view.lesson.step, 2U);
    EXPECT_TRUE(view.lesson.asking()) << "whoever takes the lesson again is asked again";
    EXPECT_EQ(view.stage, (StageId{Stage::Masked, 0}));
}

TEST_F(LessonTest, AnAnswerCanBeClicked) {
    open("masks");
    for (int i = 0; i < 2; ++i) press_and_settle(Key::Right);
    const auto at = find_item(
        "##lesson", {"13##answer2"},
        [this](float x, float y) {
            move_mouse(x, y);
            frame(ui_frame);
        },
        12, 6);
    ASSERT_TRUE(at.has_value());
    click(at->x, at->y, ui_frame);
    frames(4, ui_frame);
    EXPECT_FALSE(view.lesson.asking());
    EXPECT_EQ(view.lesson.expected.at(2), 2U);
}

/// The caption's quotation for this cell, as last drawn.
const QuotedCell* quoted_at(const ViewState& view, const CellRef& cell) {
    for (const QuotedCell& quoted : view.lesson.quoted)
        if (quoted.place.is_cell() && quoted.place.cell == cell) return &quoted;
    return nullptr;
}

TEST_F(LessonTest, NumbersLeadToTheirCells) {
    open("find-the-name");
    go_to_lesson_step(view, 2);  // the step about the context, with v as an operand
    frames(5, ui_frame);
    const CellRef value{{Stage::V, 1}, "", {0, 2, 6, 0}};
    const QuotedCell* quoted = quoted_at(view, value);
    ASSERT_NE(quoted, nullptr);
    ASSERT_EQ(quoted->seen.size(), 1U) << "V is an operand of the picture";
    const auto [min, max] = quoted->seen[0];
    EXPECT_GT(max.x, min.x);
    EXPECT_GT(min.y, quoted->number.y) << "the picture lies below the words";
    const ImGuiWindow* picture = find_window("##centre");
    EXPECT_GE(min.x, picture->Pos.x);
    EXPECT_LE(max.y, picture->Pos.y + picture->Size.y);
    EXPECT_FALSE(quoted->pointed_at);
    const ImVec2 number = quoted->number;
    move_mouse(number.x, number.y - 8);
    frames(3, ui_frame);
    ASSERT_TRUE(quoted_at(view, value)->pointed_at);
    EXPECT_EQ(view.hovered.on(Axis::S), 6) << "as if the mouse were on the cell";
    EXPECT_GT(ImGui::GetForegroundDrawList()->VtxBuffer.Size, 0) << "an arrow leads there";
    click(number.x, number.y - 8, ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(view.stage, value.stage);
    EXPECT_EQ(view.locked.on(Axis::S), 6);
    EXPECT_TRUE(changed);
    press_and_settle(Key::Backspace);
    EXPECT_EQ(view.stage, (StageId{Stage::Context, 1}));
}

TEST_F(LessonTest, NumbersHaveTheColourOfTheirCellsAndInkThatCanBeRead) {
    open("masks");
    go_to_lesson_step(view, 1);
    frames(4, ui_frame);
    for (const bool dark : {true, false}) {
        theme.colors = palette(dark);
        with_context([&](PanelContext& context) {
            const Snapshot& snapshot = context.snapshot;
            const auto look_of = [&](const std::string& quote) {
                const Caption caption = parse_caption(quote, 0);
                return look_of_cell(context, *quoted_place(*caption.front().quote, snapshot));
            };
            const auto none = look_of("{weights[0,0,5,1]}"), first = look_of("{weights[0,0,0,0]}");
            ASSERT_TRUE(none && first);
            EXPECT_EQ(first->fill, canvas.color({.lo = 0, .hi = 1}, 1.0F)) << "the map's own colour of 1";
            EXPECT_NE(first->fill, none->fill);
            EXPECT_TRUE(look_of("{masked[0,0,3,7]}")->masked);
            EXPECT_FALSE(look_of("{sum weights[0,0,3,*]}")) << "a row has many colours";
            EXPECT_TRUE(look_of("{token_embedding.weight[3,0]}"));
            for (int t = 0; t < 17; ++t)
                for (int s = 0; s < 17; ++s) {
                    const auto look = look_of(fmt::format("{{scores[0,0,{},{}]}}", t, s));
                    ASSERT_TRUE(look);
                    EXPECT_GE(contrast(look->ink, look->fill), kReadable) << t << " " << s;
                }
        });
    }
    theme.colors = palette(true);
}

/// Every step at four window sizes: the strip is above the picture, covers nothing, and its text fits.
TEST_F(LessonTest, TheStripNeverCoversThePicture) {
    for (const char* name : {"tokens-and-embeddings", "one-head", "masks", "many-heads", "dropout"}) {
        open(name);
        for (std::size_t n = 0; n < 2 * view.lesson.lesson->steps.size(); ++n) {
            const std::size_t i = n / 2;
            go_to_lesson_step(view, i);
            if (n % 2 == 1) answer_lesson_question(view, 0);
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
    ASSERT_TRUE(becomes([&] { return session->training().status->step > 5; }));
    EXPECT_EQ(view.view, View::Train);
    press(Key::Escape, ui_frame);
    ASSERT_TRUE(becomes([&] { return session->training().status->phase != TrainingPhase::Running; }));
    EXPECT_FALSE(session->document().trained.has_value());
    EXPECT_EQ(session->document().preset, "multi-head");
}

}  // namespace
}  // namespace attn::app::test
