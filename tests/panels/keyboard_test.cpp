/// Everything is reachable by keyboard and explained: visits every view and checks each control drawn.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "app/panels/frame/frame.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/lessons/lesson_player.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/keyboard_focus.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"

namespace attn::app::test {
namespace {

std::vector<std::string> unexplained(const KeyboardFocus& focus) {
    std::set<std::string> found;
    for (const FocusStop& stop : focus.stops())
        if (!stop.explained) found.insert(stop.window + " " + stop.label);
    return {found.begin(), found.end()};
}

class FocusTest : public ImGuiFixture {
protected:
    KeyboardFocus focus;
    Ui with_focus{theme, canvas, &focus};
    int presses = 0;
    std::function<void()> contents = [this] {
        focus.begin_frame();
        if (button(with_focus, "explained", {.notes = {.tooltip = "why"}})) ++presses;
        button(with_focus, "disabled", {.notes = {.disabled = "not now"}});
        button(with_focus, "bare");
    };
};

TEST_F(FocusTest, AControlWithoutTooltipIsFound) {
    frames(2, contents);
    ASSERT_EQ(focus.stops().size(), 3U);
    EXPECT_THAT(unexplained(focus), testing::ElementsAre(testing::EndsWith(" bare")));
}

TEST_F(FocusTest, TabPassesWhatCannotBeUsedAndPressesWhatItStopsAt) {
    frames(2, contents);
    release_keyboard_focus();  // the window's first control has had it since it opened
    focus.move(+1, false);
    EXPECT_TRUE(focus.on(focus.stops()[0].id));
    focus.press();
    // Our focus is queried at the start of a frame; here between two frames.
    frame([&] {
        if (button(with_focus, "explained", {.notes = {.tooltip = "why"}})) ++presses;
        button(with_focus, "disabled", {.notes = {.disabled = "not now"}});
        button(with_focus, "bare");
    });
    EXPECT_EQ(presses, 1);
    frames(2, contents);
    EXPECT_EQ(presses, 1) << "one press for one key";
    focus.move(+1, false);
    EXPECT_TRUE(focus.on(focus.stops()[2].id));
    focus.move(+1, false);
    EXPECT_TRUE(focus.on(focus.stops()[0].id)) << "round and round";
    focus.move(-1, false);
    EXPECT_TRUE(focus.on(focus.stops()[2].id));
    focus.move(+1, true);
    EXPECT_TRUE(focus.on(focus.stops()[2].id)) << "no popup is open";
    click(5, 5, contents);
    EXPECT_FALSE(focus.visible()) << "the mouse takes over";
}

TEST_F(FocusTest, OnlyWhatWasUsedLastHasATooltip) {
    ImVec2 middle{};
    bool behind = false;
    const std::function<void()> two = [&] {
        focus.begin_frame();
        button(with_focus, "focused", {.notes = {.tooltip = "of the keyboard"}});
        button(with_focus, "pointed", {.notes = {.tooltip = "of the mouse"}});
        const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
        middle = {(min.x + max.x) / 2, (min.y + max.y) / 2};
        if (behind) {
            begin_tooltip(with_focus);
            ImGui::TextUnformatted("a cell");
            end_tooltip();
        }
    };
    const auto shows = [](const char* name) {
        const ImGuiWindow* window = ImGui::FindWindowByName(name);
        return window != nullptr && window->Active && !window->Hidden;
    };
    const auto by_mouse = [&] { return shows("##Tooltip_00"); };
    const auto by_keyboard = [&] { return shows("##focused"); };
    frames(2, two);
    move_mouse(middle.x, middle.y);
    frames(60, two);
    EXPECT_TRUE(by_mouse());
    EXPECT_FALSE(by_keyboard());
    release_keyboard_focus();  // as above
    focus.move(+1, false);
    ASSERT_TRUE(focus.on(focus.stops()[0].id));
    behind = true;
    frames(60, two);
    EXPECT_FALSE(by_mouse()) << "neither of the control nor of the cell under the resting mouse";
    EXPECT_TRUE(by_keyboard());
    behind = false;
    move_mouse(middle.x + 2, middle.y);
    frames(60, two);
    EXPECT_TRUE(by_mouse());
    EXPECT_FALSE(by_keyboard());
}

/// A tooltip would cover what the click did.
TEST_F(FocusTest, AClickedControlIsSilentUntilTheMouseComesAgain) {
    ImVec2 middle{};
    const std::function<void()> one = [&] {
        focus.begin_frame();
        if (button(with_focus, "pointed", {.notes = {.tooltip = "why"}})) ++presses;
        middle = ImVec2((ImGui::GetItemRectMin().x + ImGui::GetItemRectMax().x) / 2,
                        (ImGui::GetItemRectMin().y + ImGui::GetItemRectMax().y) / 2);
    };
    const auto speaks = [] {
        const ImGuiWindow* window = ImGui::FindWindowByName("##Tooltip_00");
        return window != nullptr && window->Active && !window->Hidden;
    };
    frames(2, one);
    move_mouse(middle.x, middle.y);
    frames(60, one);
    EXPECT_TRUE(speaks());
    click(middle.x, middle.y, one);
    ASSERT_EQ(presses, 1);
    frames(60, one);
    EXPECT_FALSE(speaks());
    move_mouse(middle.x + 1, middle.y);
    frames(60, one);
    EXPECT_FALSE(speaks());
    move_mouse(middle.x, middle.y + 200);
    frames(10, one);
    move_mouse(middle.x, middle.y);
    frames(60, one);
    EXPECT_TRUE(speaks());
}

class OpeningField : public InterfaceFixture {};

/// The field receives all keys from the click that opens it, not only from the frame in which it becomes active.
TEST_F(OpeningField, KeepsItsKeysFromTheView) {
    view.toured = true;  // hides the card below the settings, which would take space from them
    view.settings.folded = {"what if", "compare"};
    files.recent_models = {"/models/gpt2"};
    open_example("causal-attention");
    session->apply({command::SetTexts{{"the cat sat", "on the mat"}, {}}, ""});
    frames(2, ui_frame);
    const auto hover = [&](float x, float y) {
        move_mouse(x, y);
        frame(ui_frame);
    };
    const auto track = find_item("##sections", {"softmax temperature", "track"}, hover);
    ASSERT_TRUE(track);
    hold_modifiers(true, false);
    mouse_button(0, true);
    frame(ui_frame);
    hold_modifiers(false, false);
    mouse_button(0, false);
    type(".", ui_frame);
    type(".", ui_frame);
    EXPECT_EQ(view.batch, 0) << "a full stop is no step to the next sequence";
    frames(2, ui_frame);
    type("0.95", ui_frame);
    press(Key::Escape, ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(view.batch, 0);
    type(".", ui_frame);
    EXPECT_EQ(view.batch, 1) << "elsewhere it is one";
}

class KeyboardTest : public InterfaceFixture {
protected:
    void expect_explained(const std::string& where) {
        frames(2, ui_frame);
        EXPECT_THAT(unexplained(view.focus), testing::IsEmpty()) << where;
        EXPECT_GT(view.focus.stops().size(), 8U) << where;
    }
};

TEST_F(KeyboardTest, KeysOfTheWindowWorkWhileTyping) {
    open_example("causal-attention");
    type("t", ui_frame);
    frames(3, ui_frame);
    ASSERT_TRUE(view.text_row.edit.editing);
    control('O');
    EXPECT_EQ(view.files.task, FileTask::Open);
}

/// Nor on anything beside it that can be clicked; and none opens by itself at the start.
TEST_F(KeyboardTest, NoTooltipLiesOnAControl) {
    constexpr int kUntilTooltip = 28;  // of a sixtieth of a second
    constexpr float kBelowSentence = 190;

    const auto shown = [] {
        const ImGuiWindow* window = ImGui::FindWindowByName("##Tooltip_00");
        return window != nullptr && window->Active && !window->Hidden ? window : nullptr;
    };
    open_example("stories");
    for (const View each : {View::Step, View::KnockOut, View::Heads, View::Train}) {
        view.view = each;
        session->wait();
        frames(3, ui_frame);
        std::size_t seen = 0;
        const auto stops = view.focus.stops();
        for (std::size_t i = 0; i < stops.size(); ++i) {
            const FocusStop& stop = stops[i];
            if (stop.bottom > ImGui::GetIO().DisplaySize.y || stop.right > ImGui::GetIO().DisplaySize.x) continue;
            if (i > 0 && i + 1 < stops.size() && stops[i - 1].label == stop.label && stops[i + 1].label == stop.label) continue;  // alike
            move_mouse((stop.left + stop.right) / 2, (stop.top + stop.bottom) / 2);
            frames(kUntilTooltip, ui_frame);
            const ImGuiWindow* const tooltip = shown();
            if (tooltip == nullptr || ImGui::GetCurrentContext()->HoveredId != stop.id) continue;  // it is scrolled out of sight
            ++seen;
            const ImRect own{{stop.left, stop.top}, {stop.right, stop.bottom}};
            EXPECT_FALSE(tooltip->Rect().Overlaps(own)) << stop.label << " in " << stop.window;
            // Beside the settings there is room for it below the title and its sentence.
            if (each == View::Step && stop.pane.x < 30 && stop.pane.y > 100 && stop.pane.y < 500) {
                for (const Box& read : view.focus.read()) {
                    const bool covered = read.min.y < kBelowSentence && tooltip->Rect().Overlaps({read.min, read.max});
                    EXPECT_FALSE(covered) << stop.label << " covers what is read at " << read.min.y;
                }
            }
            for (const FocusStop& other : view.focus.stops()) {
                const ImRect beside{{other.left, other.top}, {other.right, other.bottom}};
                const bool of_pane = other.reachable && other.pane.x == stop.pane.x && other.pane.y == stop.pane.y;
                const bool nowhere_else = stop.label == "##verified";  // at the edge of the header, with a text of many lines
                if (!of_pane || beside.Overlaps(own) || nowhere_else) continue;
                EXPECT_FALSE(tooltip->Rect().Overlaps(beside)) << stop.label << " in " << stop.window << " covers " << other.label;
            }
        }
        EXPECT_GT(seen, 15U);
    }
    view.view = View::Step;
    frames(2, ui_frame);
    view.focus = {};
    frames(60, ui_frame);
    EXPECT_EQ(shown(), nullptr) << "the mouse has not been moved since the start";
}

TEST_F(KeyboardTest, EveryControlOfEveryViewHasATooltip) {
    for (const char* preset : {"causal-attention", "encoder-decoder", "gpt-tiny", "numpy-three-heads"}) {
        open_example(preset);
        for (const auto& stage : session->snapshot()->trace->stages) {
            view.stage = stage.id;
            view.view = View::Step;
            expect_explained(std::string(preset) + ", " + tensor_name(stage.id));
        }
        view.stage = {Stage::Weights, 0};
        for (const ViewInfo& info : views()) {
            view.view = info.view;
            expect_explained(std::string(preset) + ", " + std::string(info.name));
            view.gradients = true;
            expect_explained(std::string(preset) + ", gradients of " + std::string(info.name));
            view.gradients = false;
        }
        view.view = View::Step;
        for (const Compare source : {Compare::Unmasked, Compare::Itself}) {
            view.compare.choose(source);
            expect_explained("comparing");
        }
        view.compare.choose(Compare::Off);
    }
}

TEST_F(KeyboardTest, SoHaveThoseOfATrainingRunAndOfALesson) {
    open_example("causal-attention");
    RunSettings run = default_run(TaskKind::Copy);
    run.stop.steps = 12;
    session->apply({command::SetRun{run}, ""});
    session->apply({command::StartTraining{}, ""});
    session->wait_for_training();
    view.settings.folded.clear();
    view.view = View::Train;
    expect_explained("after a run");
    pin();
    pin(true);
    expect_explained("with pinned moments");
    view.train.lines = true;
    expect_explained("as lines");
    view.train.lines = false;
    ImGui::GetIO().DisplaySize = ImVec2(1280, 720);
    expect_explained("on a small window");
    open_lesson(view, session->document(), find_lesson("masks"));
    expect_explained("in a lesson");
}

/// Tab alone reaches every usable control in one round.
TEST_F(KeyboardTest, TabReachesEverythingAndReturns) {
    open_example("multi-head");
    for (const ViewInfo& info : views()) {
        view.view = info.view;
        view.focus.hide();
        frames(3, ui_frame);
        std::set<ImGuiID> wanted, reached;
        for (const FocusStop& stop : view.focus.stops())
            if (stop.reachable) wanted.insert(stop.id);
        ASSERT_GT(wanted.size(), 10U);
        for (std::size_t i = 0; i < wanted.size() + 40; ++i) {
            press(Key::Tab, ui_frame);
            ASSERT_TRUE(view.focus.visible());
            for (const FocusStop& stop : view.focus.stops())
                if (view.focus.on(stop.id)) reached.insert(stop.id);
        }
        std::vector<std::string> missed;
        for (const FocusStop& stop : view.focus.stops())
            if (stop.reachable && wanted.contains(stop.id) && !reached.contains(stop.id)) missed.push_back(stop.window + " " + stop.label);
        EXPECT_THAT(missed, testing::IsEmpty()) << info.name;
        press(Key::Escape, ui_frame);
        press(Key::Escape, ui_frame);
        EXPECT_FALSE(view.focus.visible());
    }
}

TEST_F(KeyboardTest, SpacePressesAndTheRingIsDrawn) {
    open_example("multi-head");
    const auto go_to = [&](const std::string& label) {
        for (int i = 0; i < 200; ++i) {
            press(Key::Tab, ui_frame);
            for (const FocusStop& stop : view.focus.stops())
                if (view.focus.on(stop.id) && stop.label == label) return true;
        }
        return false;
    };
    view.panes.right = view.panes.strip = false;
    frames(2, ui_frame);
    const int before = vertices();
    const bool causal = session->document().forward.masks.causal;
    ASSERT_TRUE(go_to("Causal"));
    EXPECT_GT(vertices(), before) << "a ring and a tooltip";
    press(Key::Space, ui_frame);
    frames(2, ui_frame);
    EXPECT_NE(session->document().forward.masks.causal, causal);
    EXPECT_FALSE(view.playing) << "Space belongs to the control";
    const auto on_menu_of_examples = [&] {
        for (const FocusStop& stop : view.focus.stops())
            if (view.focus.on(stop.id)) return stop.label == "button" && stop.window.find("##top") != std::string::npos;
        return false;
    };
    for (int i = 0; i < 200 && !on_menu_of_examples(); ++i) press(Key::Tab, ui_frame);
    ASSERT_TRUE(on_menu_of_examples());
    press(Key::Enter, ui_frame);
    frames(2, ui_frame);
    ASSERT_TRUE(any_popup_open());
    const StageId stage = view.stage;
    for (int i = 0; i < 2; ++i) {
        press(Key::Down, ui_frame);
        frames(2, ui_frame);
        ASSERT_TRUE(any_popup_open());
    }
    press(Key::Tab, ui_frame);
    frames(2, ui_frame);
    ASSERT_TRUE(any_popup_open());
    EXPECT_EQ(view.stage, stage) << "the keys belong to the menu";
    const std::string example = session->document().preset;
    press(Key::Enter, ui_frame);
    frames(3, ui_frame);
    EXPECT_FALSE(any_popup_open());
    EXPECT_NE(session->document().preset, example) << "another example was chosen";
}

TEST_F(KeyboardTest, AMenuOpenedByTheMouseBeginsWithItsFirstItem) {
    open_example("multi-head");
    const auto file = find_item("##top", {"##file", "button"}, [&](float x, float y) {
        move_mouse(x, y);
        frame(ui_frame);
    });
    ASSERT_TRUE(file);
    click(file->x, file->y, ui_frame);
    frames(2, ui_frame);
    ASSERT_TRUE(any_popup_open());
    std::vector<ImGuiID> items;
    for (const FocusStop& stop : view.focus.stops())
        if (stop.in_popup) items.push_back(stop.id);
    ASSERT_GT(items.size(), 2U);
    EXPECT_TRUE(view.focus.on(items[0]));
    for (std::size_t i = 1; i < 3; ++i) {
        press(Key::Down, ui_frame);
        EXPECT_TRUE(view.focus.on(items[i])) << i;
    }
    press(Key::End, ui_frame);
    EXPECT_TRUE(view.focus.on(items.back()));
    press(Key::Home, ui_frame);
    EXPECT_TRUE(view.focus.on(items[0]));
    // "Open…" and "Open a model…", over and over.
    type("o", ui_frame);
    EXPECT_TRUE(view.focus.on(items[1]));
    type("o", ui_frame);
    EXPECT_TRUE(view.focus.on(items[2]));
    type("o", ui_frame);
    EXPECT_TRUE(view.focus.on(items[1]));
    // Fast letters add up.
    for (const char* letter : {"p", "e", "n"}) {
        type(letter, ui_frame);
        EXPECT_TRUE(view.focus.on(items[1])) << letter;
    }
    type("a", ui_frame);
    EXPECT_TRUE(view.focus.on(items[2])) << "Open a model…";
    type("e", ui_frame);
    EXPECT_EQ(view.view, View::Step) << "the letters belong to the menu";
    press(Key::Enter, ui_frame);
    frames(3, ui_frame);
    EXPECT_FALSE(any_popup_open());
    EXPECT_EQ(view.files.task, FileTask::Export);
}

TEST_F(KeyboardTest, AMenuBeginsAtItsTickedItemAndLeavesTheFocusAlone) {
    open_example("multi-head");
    const auto examples = find_item("##top", {"##presets", "button"}, [&](float x, float y) {
        move_mouse(x, y);
        frame(ui_frame);
    });
    ASSERT_TRUE(examples);
    click(examples->x, examples->y, ui_frame);
    frames(2, ui_frame);
    ASSERT_TRUE(any_popup_open());
    std::vector<std::string> names;
    std::optional<std::size_t> focused;
    for (const FocusStop& stop : view.focus.stops()) {
        if (!stop.in_menu()) continue;
        if (view.focus.on(stop.id)) focused = names.size();
        names.push_back(stop.words);
    }
    ASSERT_TRUE(focused);
    EXPECT_THAT(names[*focused], testing::StartsWith(find_preset("multi-head").title));
    ASSERT_GT(*focused, 0U);
    press(Key::Up, ui_frame);
    press(Key::Enter, ui_frame);
    frames(3, ui_frame);
    EXPECT_THAT(names[*focused - 1], testing::StartsWith(find_preset(session->document().preset).title));
    EXPECT_FALSE(view.focus.visible()) << "Space and Enter belong to the picture again";
}

TEST_F(KeyboardTest, ASliderReachedByTabIsSteppedByArrows) {
    open_example("multi-head");
    view.settings.folded = {"what if", "compare"};
    for (int i = 0; i < 200; ++i) {
        press(Key::Tab, ui_frame);
        bool there = false;
        for (const FocusStop& stop : view.focus.stops()) there |= view.focus.on(stop.id) && stop.label == "track";
        if (there) break;
    }
    const StageId stage = view.stage;
    const Document before = session->document();
    press(Key::Right, ui_frame);
    frames(2, ui_frame);
    EXPECT_NE(session->document(), before);
    EXPECT_EQ(view.stage, stage);
}

/// From pane to pane: the top bar, the text, the settings, the picture, the chosen cell, the strip, and round again.
/// A search field that Tab has left takes no keys any more, however fast one types.
TEST_F(KeyboardTest, TheFirstKeyBehindASearchFieldIsNotLost) {
    open_example("causal-attention");
    struct Case {
        View view;
        const char* field;
        const std::string& text;
    };
    for (const auto& [shown, field, text] :
         {Case{View::Grid, "##find_head", view.grid.find}, Case{View::Step, "##settings_search", view.settings.search.text}}) {
        for (const int rest : {0, 3}) {
            view.view = shown;
            view.panes.left_open = shown == View::Step;
            view.focus.hide();
            frames(4, ui_frame);
            const auto on_field = [&, &label = field] {
                const auto& stops = view.focus.stops();
                return std::any_of(stops.begin(), stops.end(),
                                   [&](const FocusStop& stop) { return stop.label == label && view.focus.on(stop.id); });
            };
            for (std::size_t i = 0; i <= view.focus.stops().size() && !on_field(); ++i) press(Key::Tab, ui_frame);
            ASSERT_TRUE(on_field()) << field;
            frames(rest, ui_frame);
            press(Key::Tab, ui_frame);
            EXPECT_FALSE(on_field());
            frames(rest, ui_frame);
            const bool dark = view.dark;
            type("l", ui_frame);
            frames(2, ui_frame);
            EXPECT_NE(view.dark, dark) << field << " after " << rest << " frames";
            EXPECT_EQ(text, "") << field;
        }
    }
}

TEST_F(KeyboardTest, F6GoesFromPaneToPane) {
    open_example("multi-head");
    frames(3, ui_frame);
    std::vector<std::string> panes;
    for (int i = 0; i < 6; ++i) {
        press(Key::F6, ui_frame);
        frames(2, ui_frame);
        for (const FocusStop& stop : view.focus.stops())
            if (view.focus.on(stop.id)) {
                const std::string name = stop.window.substr(stop.window.find('/') + 1);
                panes.push_back(name.substr(0, name.find_first_of("_/", 2)));
            }
    }
    panes.resize(6);
    EXPECT_EQ(panes, (std::vector<std::string>{"##text", "##settings", "##centre", "##cell", "##strip", "##text"}))
        << "the header has keys and names of its own";
}

/// The help has a close button, and so has the picture that stands alone.
TEST_F(KeyboardTest, WhatCoversTheWindowCanBeClosedWithTheMouse) {
    open_example("multi-head");
    const auto click_on = [&](const char* window, std::initializer_list<const char*> path) {
        const auto at = find_item(
            window, path,
            [this](float x, float y) {
                move_mouse(x, y);
                frame(ui_frame);
            },
            10, 6);
        ASSERT_TRUE(at) << window;
        click(at->x, at->y, ui_frame);
        frames(2, ui_frame);
    };
    view.help = true;
    frames(4, ui_frame);
    click_on("##help_sheet", {"##close_help"});
    EXPECT_FALSE(view.help);
    view.panes.only_centre = true;
    frames(4, ui_frame);
    click_on("##attnscope", {"all panes (Esc)"});
    EXPECT_FALSE(view.panes.only_centre);
}

/// Controls that do not register would be missed by all these tests, so nothing else may create ImGui buttons directly.
TEST(ControlsOfPanels, AreMadeInOnePlace) {
    const std::filesystem::path root = std::filesystem::path(ATTN_TEST_DATA).parent_path() / "app";
    // Heatmaps are panned and zoomed with all mouse buttons; their cells have keys of their own.
    const std::set<std::string> surfaces = {"item.cpp", "imgui_compat.hpp", "heatmap_view.cpp"};
    int read = 0;
    for (const char* folder : {"panels", "widgets"}) {
        for (const auto& entry : std::filesystem::directory_iterator(root / folder)) {
            const std::string name = entry.path().filename();
            std::stringstream text;
            text << std::ifstream(entry.path()).rdbuf();
            ++read;
            if (surfaces.contains(name)) continue;
            for (const char* raw :
                 {"ImGui::InvisibleButton(", "ImGui::Button(", "ImGui::SmallButton(", "ImGui::Checkbox(", "ImGui::Selectable("})
                EXPECT_EQ(text.str().find(raw), std::string::npos) << name << " makes a control with " << raw << "; use begin_item()";
        }
    }
    EXPECT_GT(read, 80);
}

}  // namespace
}  // namespace attn::app::test
