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
    /// The labels of the controls, or of those in windows whose names contain `window`.
    std::set<std::string> controls(std::string_view window = "") const {
        std::set<std::string> labels;
        for (const FocusStop& stop : view.focus.stops())
            if (stop.window.find(window) != std::string::npos)
                labels.insert(stop.label == "track" ? stop.words : stop.label.substr(0, stop.label.find("##")));
        return labels;
    }
    static constexpr std::string_view kAll = "##all_sections", kShort = "##sections";
    std::set<std::string> found(const std::string& text) {
        view.panes.left_open = true;
        view.settings.search.text = text;
        frames(3, ui_frame);
        return controls(kAll);
    }
    /// Activates a control by keyboard; false if it does not exist.
    bool press_control(const std::string& label, std::string_view window = "") {
        for (int i = 0; i < 300; ++i) {
            press(Key::Tab, ui_frame);
            for (const FocusStop& stop : view.focus.stops()) {
                if (!view.focus.on(stop.id) || stop.window.find(window) == std::string::npos ||
                    stop.label.substr(0, stop.label.find("##")) != label)
                    continue;
                press(Key::Space, ui_frame);
                frames(3, ui_frame);
                return true;
            }
        }
        return false;
    }
};

/// The masks are always open; everything else is a line, or among all settings.
TEST_F(SettingsPane, TheShortPaneHasTheMasksAndALineForEachGroup) {
    view.settings.folded = {"what if", "compare", "softmax", "model"};
    frames(3, ui_frame);
    EXPECT_EQ(controls(kShort), (std::set<std::string>{"Causal", "Padding", "add a second text", "What if …", "Compare", "Softmax", "Model",
                                                       "All settings"}));
    ASSERT_TRUE(press_control("Softmax"));
    EXPECT_THAT(controls(kShort), Contains("softmax temperature"));
    ASSERT_TRUE(press_control("What if …"));
    for (const MistakeInfo& info : mistakes()) EXPECT_THAT(controls(kShort), Contains(std::string(info.title)));
    ForwardSettings settings = session->document().forward;
    settings.masks.window = 3;
    session->apply({command::SetForward{settings}, ""});
    frames(3, ui_frame);
    EXPECT_THAT(controls(kShort), Contains("Other masks: window 3")) << "a mask of another kind is said";
    view.view = View::Heads;
    frames(3, ui_frame);
    for (const char* line : {"Shown", "Find heads", "Measure"}) EXPECT_THAT(controls(kShort), Contains(line));
    view.view = View::Lines;
    frames(3, ui_frame);
    EXPECT_THAT(controls(kShort), Contains("Lines"));
}

/// Where a control cannot act, it offers what it needs.
TEST_F(SettingsPane, PaddingOffersASecondText) {
    open_example("stories");
    frames(3, ui_frame);
    ASSERT_TRUE(press_control("add a second text"));
    frames(4, ui_frame);
    EXPECT_EQ(session->document().texts.size(), 2U);
    EXPECT_TRUE(view.text_row.edit.editing) << "which is typed into at once";
    press(Key::Escape, ui_frame);
    frames(3, ui_frame);
    EXPECT_THAT(controls(kShort), Not(Contains("add a second text")));
}

TEST_F(SettingsPane, AllSettingsOpenOverThePaneAndEscapeClosesThem) {
    frames(3, ui_frame);
    EXPECT_EQ(find_window("##all_settings"), nullptr);
    ASSERT_TRUE(press_control("All settings"));
    ASSERT_NE(find_window("##all_settings"), nullptr);
    for (const char* control : {"paint…", "Tied head", "Causal", "pin this state"}) EXPECT_THAT(controls(kAll), Contains(control));
    view.focus.hide();
    press(Key::Escape, ui_frame);
    frames(3, ui_frame);
    EXPECT_EQ(find_window("##all_settings"), nullptr);
}

TEST_F(SettingsPane, PartsFoldAndOpenAgain) {
    view.panes.left_open = true;
    frames(3, ui_frame);
    EXPECT_THAT(controls(kAll), Contains("paint…"));
    ASSERT_TRUE(press_control("Other masks", kAll));
    EXPECT_THAT(view.settings.folded, testing::ElementsAre("other masks"));
    EXPECT_THAT(controls(kAll), Not(Contains("paint…")));
    EXPECT_THAT(controls(kAll), Contains("Causal")) << "the other parts stay as they are";
    view.view = View::Heads;
    frames(3, ui_frame);
    EXPECT_THAT(controls(kAll), Not(Contains("paint…"))) << "in every view";
    ASSERT_TRUE(press_control("Other masks", kAll));
    EXPECT_THAT(view.settings.folded, IsEmpty());
    EXPECT_THAT(controls(kAll), Contains("paint…"));
    view.settings.folded.insert("masks");
    frames(3, ui_frame);
    EXPECT_THAT(controls(kAll), Not(Contains("Causal")));
    EXPECT_THAT(controls(kShort), Contains("Causal")) << "the short pane shows the masks always";
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
        const ImGuiWindow* pane = find_window("##all_sections");
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
    view.panes.left_open = true;
    for (const char* name : {"shown", "masks", "model", "tokens", "parts", "softmax", "edits", "other masks", "what if"})
        view.settings.folded.insert(name);
    view.settings.folded.erase("compare");
    view.settings.folded.erase("mistakes");
    view.panes.reveal = "mistakes";
    frames(4, ui_frame);
    const std::string label = std::string(mistakes()[1].title) + "##mistake";
    const auto place = find_item("##all_sections", {label.c_str()}, [&](float x, float y) {
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
    view.panes.left_open = true;
    frames(4, ui_frame);
    const ImGuiWindow* pane = find_window("##all_sections");
    ASSERT_NE(pane, nullptr);
    ASSERT_EQ(pane->Scroll.y, 0);
    const std::size_t folded = view.settings.folded.size();
    const ImRect area = pane->InnerClipRect;
    for (float y = area.Max.y - 3; y > area.Min.y && view.settings.folded.size() == folded; y -= 5) click(area.Min.x + 60, y, ui_frame);
    ASSERT_EQ(view.settings.folded.size(), folded - 1);
    frames(4, ui_frame);
    EXPECT_GT(find_window("##all_sections")->Scroll.y, 0);
}

TEST_F(SettingsPane, ASlashBeginsTheSearch) {
    view.panes.left = false;
    frames(3, ui_frame);
    type("/", ui_frame);
    frames(3, ui_frame);
    EXPECT_TRUE(view.panes.left_open);
    type("padding", ui_frame);
    frames(3, ui_frame);
    EXPECT_EQ(view.settings.search.text, "padding") << "the slash itself is not typed";
    EXPECT_TRUE(session->document().forward.masks.padding) << "nor are the letters shortcuts";
    EXPECT_THAT(controls(kAll), Contains("Padding"));
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
    ASSERT_TRUE(press_control("Take the tour"));
    ASSERT_TRUE(view.lesson.open());
    EXPECT_EQ(view.lesson.lesson->name, "tour");
    with_context([](PanelContext& context) { close_lesson(context); });
    frames(3, ui_frame);
    EXPECT_FALSE(view.toured) << "it was left at its beginning";
    EXPECT_THAT(controls(), Contains("Take the tour"));
    with_context([](PanelContext& context) { open_tour(context); });
    go_to_lesson_step(view, view.lesson.lesson->steps.size() - 1);
    with_context([](PanelContext& context) { close_lesson(context); });
    frames(3, ui_frame);
    EXPECT_TRUE(view.toured);
    EXPECT_THAT(controls(), Not(Contains("Take the tour")));
}

TEST_F(SettingsPane, TheCardCanBeClosed) {
    frames(3, ui_frame);
    ASSERT_TRUE(press_control("", "##card"));
    EXPECT_TRUE(view.toured);
    EXPECT_THAT(controls(), Not(Contains("Take the tour")));
}

TEST_F(SettingsPane, AModelOfOnesOwnIsOfferedUntilOneHasBeenOpened) {
    frames(3, ui_frame);
    ASSERT_TRUE(press_control("or open your own model"));
    EXPECT_EQ(view.files.task, FileTask::Open);
    EXPECT_TRUE(view.files.shelf) << "it lists models, not a folder";
    press(Key::Escape, ui_frame);
    files.recent_models = {"/models/gpt2"};
    frames(3, ui_frame);
    EXPECT_THAT(controls(), Not(Contains("or open your own model")));
    EXPECT_THAT(controls(), Contains("Take the tour"));
}

TEST_F(SettingsPane, LessonsAndTrainAreOnTheFirstScreenOfASmallWindow) {
    ImGui::GetIO().DisplaySize = ImVec2(1280, 720);
    frames(3, ui_frame);
    std::set<std::string> tabs;
    for (const FocusStop& stop : view.focus.stops())
        if (stop.label == "tab") tabs.insert(stop.words);
    EXPECT_THAT(tabs, Contains("Train"));
    EXPECT_NE(find_window("##top"), nullptr);
    EXPECT_THAT(controls(), Contains("Take the tour"));
}

}  // namespace
}  // namespace attn::app::test
