/// The settings pane: collapsible sections, search, and the button for the tour.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "app/panels/lessons/lesson_player.hpp"
#include "app/session/lessons/lesson.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"

namespace attn::app::test {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;

class SettingsPane : public InterfaceFixture {
protected:
    SettingsPane() { open_example("gpt-tiny"); }
    /// The labels of the pane's controls.
    std::set<std::string> controls() const {
        std::set<std::string> labels;
        for (const FocusStop& stop : view.focus.stops()) labels.insert(stop.label.substr(0, stop.label.find("##")));
        return labels;
    }
    std::set<std::string> found(const std::string& text) {
        view.settings.search.text = text;
        frames(3, ui_frame);
        return controls();
    }
    /// Activates a control by keyboard; false if it does not exist.
    bool press_control(const std::string& label) {
        for (int i = 0; i < 200; ++i) {
            press(Key::Tab, ui_frame);
            for (const FocusStop& stop : view.focus.stops()) {
                if (!view.focus.on(stop.id) || stop.label.substr(0, stop.label.find("##")) != label) continue;
                press(Key::Space, ui_frame);
                frames(3, ui_frame);
                return true;
            }
        }
        return false;
    }
};

TEST_F(SettingsPane, PartsFoldAndOpenAgain) {
    frames(3, ui_frame);
    EXPECT_THAT(controls(), Contains("Causal"));
    ASSERT_TRUE(press_control("Masks"));
    EXPECT_THAT(view.settings.folded, testing::ElementsAre("masks"));
    EXPECT_THAT(controls(), Not(Contains("Causal")));
    EXPECT_THAT(controls(), Contains("paint…")) << "the other parts stay as they are";
    view.view = View::Heads;
    frames(3, ui_frame);
    EXPECT_THAT(controls(), Not(Contains("Causal"))) << "in every view";
    ASSERT_TRUE(press_control("Masks"));
    EXPECT_THAT(view.settings.folded, IsEmpty());
    EXPECT_THAT(controls(), Contains("Causal"));
}

TEST_F(SettingsPane, TheSearchFindsPartsByWhatIsInThem) {
    view.settings.folded = {"masks", "other masks", "softmax", "model", "parts", "mistakes", "compare"};
    EXPECT_THAT(found(""), Not(Contains("Causal")));
    EXPECT_THAT(found("CAUS"), Contains("Causal")) << "what is folded is opened for it";
    EXPECT_THAT(found("caus"), Not(Contains("paint…")));
    EXPECT_THAT(found("paint"), Contains("paint…"));
    EXPECT_THAT(found("Tied head"), Contains("Tied head"));
    EXPECT_THAT(found("pin"), Contains("pin this state"));
    for (const MistakeInfo& info : mistakes()) EXPECT_THAT(found(std::string(info.title)), Contains(std::string(info.title)));
    const std::set<std::string> none = found("no such setting");
    for (const char* control : {"Causal", "paint…", "pin this state", "Tied head"}) EXPECT_THAT(none, Not(Contains(control)));
    EXPECT_EQ(view.settings.folded.size(), 7U) << "searching folds and opens nothing";
}

/// Long sections would otherwise hide what was found below the edge of the pane.
TEST_F(SettingsPane, TheSearchScrollsToTheControlItFinds) {
    ImGui::GetIO().DisplaySize = {1280, 560};
    frames(3, ui_frame);
    const auto place = [&](const std::string& text, const std::string& words) {
        found(text);
        const auto stop =
            std::find_if(view.focus.stops().begin(), view.focus.stops().end(), [&](const FocusStop& one) { return one.words == words; });
        const ImGuiWindow* pane = find_window("##sections");
        return std::tuple(stop != view.focus.stops().end() && stop->top >= pane->InnerRect.Min.y && stop->bottom <= pane->InnerRect.Max.y,
                          pane->Scroll.y);
    };
    for (const auto& [text, words] :
         {std::pair("gate", "feed-forward layer gated"), std::pair("tied", "Tied head"), std::pair("positions", "positions none")}) {
        const auto [visible, scroll] = place(text, words);
        EXPECT_TRUE(visible) << text;
        EXPECT_EQ(scroll > 0, words != std::string("positions none")) << text;
    }
    const auto [visible, scroll] = place("parts", "Tied head");
    EXPECT_EQ(scroll, 0) << "the whole section was asked for";
    EXPECT_FALSE(visible);
}

/// A mistake turns the comparison on, whose section lies above and grows.
TEST_F(SettingsPane, WhatIsClickedStaysInPlaceWhenTheSectionAboveGrows) {
    for (const char* name : {"shown", "masks", "model", "tokens", "parts", "softmax", "edits", "other masks"})
        view.settings.folded.insert(name);
    view.settings.folded.erase("compare");
    view.settings.folded.erase("mistakes");
    view.panes.reveal = "mistakes";
    frames(4, ui_frame);
    const std::string label = std::string(mistakes()[1].title) + "##mistake";
    const auto place = find_item("##sections", {label.c_str()}, [&](float x, float y) {
        move_mouse(x, y);
        frame(ui_frame);
    });
    ASSERT_TRUE(place);
    const ImGuiID hovered = ImGui::GetCurrentContext()->HoveredId;
    ASSERT_NE(hovered, 0U);
    click(place->x, place->y, ui_frame);
    frames(6, ui_frame);
    ASSERT_EQ(session->document().forward.mistake, mistakes()[1].mistake);
    ASSERT_EQ(view.compare.source, Compare::Correct);
    EXPECT_EQ(ImGui::GetCurrentContext()->HoveredId, hovered);
    frames(60, ui_frame);
    EXPECT_EQ(ImGui::GetCurrentContext()->HoveredId, hovered) << "for good";
}

/// Otherwise a click on the lowest heading would seem to do nothing.
TEST_F(SettingsPane, ASectionThatIsOpenedAtTheBottomIsScrolledTo) {
    for (const char* name : {"shown", "masks", "other masks", "softmax", "edits", "compare", "model", "tokens", "parts", "mistakes"})
        view.settings.folded.insert(name);
    ImGui::GetIO().DisplaySize = {1280, 560};
    frames(4, ui_frame);
    const ImGuiWindow* pane = find_window("##sections");
    ASSERT_NE(pane, nullptr);
    ASSERT_EQ(pane->Scroll.y, 0);
    const std::size_t folded = view.settings.folded.size();
    const ImRect area = pane->InnerClipRect;
    for (float y = area.Max.y - 3; y > area.Min.y && view.settings.folded.size() == folded; y -= 5) click(area.Min.x + 60, y, ui_frame);
    ASSERT_EQ(view.settings.folded.size(), folded - 1);
    frames(4, ui_frame);
    EXPECT_GT(find_window("##sections")->Scroll.y, 0);
}

TEST_F(SettingsPane, ASlashBeginsTheSearch) {
    view.panes.left = false;
    frames(3, ui_frame);
    type("/", ui_frame);
    frames(3, ui_frame);
    EXPECT_TRUE(view.panes.left);
    type("padding", ui_frame);
    frames(3, ui_frame);
    EXPECT_EQ(view.settings.search.text, "padding") << "the slash itself is not typed";
    EXPECT_TRUE(session->document().forward.masks.padding) << "nor are the letters shortcuts";
    EXPECT_THAT(controls(), Contains("Padding"));
}

TEST_F(SettingsPane, ALessonShowsItsPartsOpen) {
    view.settings.folded = {"masks", "other masks"};
    const auto tour = find_lesson("tour");
    const auto with_masks = std::find_if(tour->steps.begin(), tour->steps.end(),
                                         [](const LessonStep& step) { return step.look.settings && step.look.controls.count() == 1; });
    ASSERT_NE(with_masks, tour->steps.end());
    with_context([&](PanelContext& context) {
        open_lesson(view, context.document, tour, static_cast<std::size_t>(with_masks - tour->steps.begin()));
    });
    frames(6, ui_frame);
    EXPECT_THAT(controls(), Contains("Causal"));
    EXPECT_THAT(controls(), Not(Contains("pin this state")));
}

TEST_F(SettingsPane, TheTourIsOfferedUntilItHasBeenTaken) {
    frames(3, ui_frame);
    ASSERT_TRUE(press_control("Take the tour · 5 minutes"));
    ASSERT_TRUE(view.lesson.open());
    EXPECT_EQ(view.lesson.lesson->name, "tour");
    with_context([](PanelContext& context) { close_lesson(context); });
    frames(3, ui_frame);
    EXPECT_FALSE(view.toured) << "it was left at its beginning";
    EXPECT_THAT(controls(), Contains("Take the tour · 5 minutes"));
    with_context([](PanelContext& context) { open_tour(context); });
    go_to_lesson_step(view, view.lesson.lesson->steps.size() - 1);
    with_context([](PanelContext& context) { close_lesson(context); });
    frames(3, ui_frame);
    EXPECT_TRUE(view.toured);
    EXPECT_THAT(controls(), Not(Contains("Take the tour · 5 minutes")));
}

TEST_F(SettingsPane, AModelOfOnesOwnIsOfferedUntilOneHasBeenOpened) {
    frames(3, ui_frame);
    ASSERT_TRUE(press_control("Open a model of your own…"));
    EXPECT_EQ(view.files.task, FileTask::Open);
    EXPECT_TRUE(view.files.shelf) << "it lists models, not a folder";
    press(Key::Escape, ui_frame);
    view.toured = true;
    frames(3, ui_frame);
    EXPECT_THAT(controls(), Contains("Open a model of your own…")) << "the tour has nothing to do with it";
    files.recent_models = {"/models/gpt2"};
    frames(3, ui_frame);
    EXPECT_THAT(controls(), Not(Contains("Open a model of your own…")));
}

TEST_F(SettingsPane, LessonsAndTrainAreOnTheFirstScreenOfASmallWindow) {
    ImGui::GetIO().DisplaySize = ImVec2(1280, 720);
    view.view = View::Heads;
    frames(3, ui_frame);
    std::size_t tabs = 0;
    for (const FocusStop& stop : view.focus.stops()) tabs += stop.label == "tab" ? 1 : 0;
    EXPECT_LT(tabs, views().size()) << "not all fit";
    EXPECT_THAT(controls(), Contains("Take the tour · 5 minutes"));
}

}  // namespace
}  // namespace attn::app::test
