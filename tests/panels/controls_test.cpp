#include "app/widgets/controls.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/widgets/color_bar.hpp"
#include "app/widgets/slider.hpp"
#include "app/widgets/text.hpp"
#include "tests/support/imgui_fixture.hpp"

namespace attn::app {
namespace {

using test::ImGuiFixture;

class Controls : public ImGuiFixture {
protected:
    /// Contents 200 pixels wide.
    void narrow(const std::function<void()>& contents) {
        ImGui::BeginChild("narrow", ImVec2(200, 0));
        contents();
        ImGui::EndChild();
    }
};

TEST_F(Controls, APictureThatIsKeptHasNone) {
    const auto drawn = [&](bool without) {
        const Ui picture{theme, canvas, nullptr, without};
        const auto contents = [&] {
            static constexpr std::array<std::string_view, 2> kNames = {"one", "two"};
            int chosen = 0;
            double value = 1;
            button(picture, "press");
            segmented(picture, "pills", kNames, chosen);
            if (begin_menu_button(picture, "menu", "shown")) end_menu_button();
            if (begin_menu_link(picture, "link", "shown")) end_menu_button();
            slider_row(picture, "slider", value, {});
        };
        frames(2, contents);
        return vertices();
    };
    frames(2, [] {});
    const int empty = vertices();
    EXPECT_GT(drawn(false), empty);
    EXPECT_EQ(drawn(true), empty);
}

TEST_F(Controls, TheNumbersOfAColorBarStayBesideItHoweverLowItIs) {
    const HeatmapStyle style = resolve_style({}, false, -2, 2);
    const float line = font_size(theme.fonts.mono_small);
    float with_numbers = 0, without = 0;
    for (float height = 1; height < 6 * line; ++height) {
        float beside = 0, lowest = 0, highest = 1e9F;
        frames(1, [&] {
            const ImDrawList& list = *ImGui::GetWindowDrawList();
            const int before = list.VtxBuffer.Size;
            beside = color_bar(ui, ImVec2(50, 100), 100 + height, style);
            for (int i = before; i < list.VtxBuffer.Size; ++i) {
                lowest = std::max(lowest, list.VtxBuffer[i].pos.y);
                highest = std::min(highest, list.VtxBuffer[i].pos.y);
            }
        });
        constexpr float kFrame = 2.1F;  // around the bar, including its antialiased edge
        EXPECT_LE(lowest, 100 + height + kFrame);
        EXPECT_GE(highest, 100 - kFrame) << "a bar of " << height << " pixels";
        EXPECT_EQ(beside > 10, height >= 2 * line) << "two numbers need two lines";
        ++(beside > 10 ? with_numbers : without);
    }
    EXPECT_GT(with_numbers, 3 * line);
    EXPECT_GT(without, line);
}

/// Drags the upper label of a bar from (50, 100) to 300 by half the bar's height.
TEST_F(Controls, TheEndsOfAColorBarCanBeDragged) {
    ColorOptions options;
    HeatmapStyle style = resolve_style(options, true, 0, 1);
    int changes = 0;
    const auto contents = [&] {
        style = resolve_style(options, style.map != ColorMap::Diverging, -2, 2);
        changes += drag_color_ends(ui, "ends", ImVec2(50, 100), 300, style, options);
    };
    frames(2, contents);
    drag(ImVec2(85, 104), ImVec2(85, 4), contents);
    EXPECT_EQ(options.range, RangeMode::Manual);
    EXPECT_GT(changes, 0);
    EXPECT_EQ(options.lo, 0) << "the other end stays";
    EXPECT_GT(options.hi, 1.3F);
    // The ends never cross.
    drag(ImVec2(85, 104), ImVec2(85, 2000), contents);
    EXPECT_LT(options.lo, options.hi);
    frames(30, contents);
    click(85, 104, contents);
    click(85, 104, contents);
    EXPECT_EQ(options.range, RangeMode::Auto) << "a double click";
    style.map = ColorMap::Diverging;
    options = {.map = ColorMap::Diverging};
    frames(30, contents);
    drag(ImVec2(85, 296), ImVec2(85, 396), contents);
    EXPECT_LT(options.lo, -2.5F);
    EXPECT_EQ(options.hi, -options.lo) << "0 stays in the middle";
}

TEST_F(Controls, SliderFollowsTheMouseToBothEnds) {
    int value = 3, changes = 0, finished = 0;
    const auto contents = [&] {
        narrow([&] {
            const Edited edited = slider_row(ui, "layers", value, {.min = 1, .max = 9});
            changes += edited.changed;
            finished += edited.finished;
        });
    };
    frames(2, contents);
    EXPECT_EQ(changes, 0);
    drag(ImVec2(100, 29), ImVec2(400, 29), contents);
    EXPECT_EQ(value, 9);
    EXPECT_EQ(finished, 1);
    EXPECT_GE(changes, 2);
    frames(30, contents);  // another click at once would be a double-click
    drag(ImVec2(100, 29), ImVec2(-50, 29), contents);
    EXPECT_EQ(value, 1);
    EXPECT_EQ(finished, 2);
    frames(30, contents);
    drag(ImVec2(100, 29), ImVec2(100, 29), contents);
    EXPECT_EQ(value, 5) << "the middle of the track";
}

TEST_F(Controls, SliderKeysStepOnlyWithTheKeyboardFocus) {
    float value = 0.5f;
    int finished = 0;
    const auto contents = [&] {
        narrow([&] { finished += slider_row(ui, "dropout", value, {.min = 0, .max = 1, .step = 0.05}).finished; });
    };
    frames(2, contents);
    press(Key::Right, contents);
    EXPECT_FLOAT_EQ(value, 0.5f);
    click(100, 29, contents);
    EXPECT_FLOAT_EQ(value, 0.5f);
    finished = 0;
    press(Key::Right, contents);
    EXPECT_FLOAT_EQ(value, 0.55f);
    EXPECT_EQ(finished, 1);
    EXPECT_TRUE(ImGui::GetIO().WantCaptureKeyboard);
    press(Key::Left, contents);
    press(Key::Left, contents);
    EXPECT_FLOAT_EQ(value, 0.45f);
    press(Key::End, contents);
    EXPECT_FLOAT_EQ(value, 1.0f);
    press(Key::Right, contents);
    EXPECT_FLOAT_EQ(value, 1.0f);
    press(Key::Home, contents);
    EXPECT_FLOAT_EQ(value, 0.0f);
    press(Key::Escape, contents);
    press(Key::Right, contents);
    EXPECT_FLOAT_EQ(value, 0.0f) << "Escape gave the keyboard back";
    frame(contents);
    EXPECT_FALSE(ImGui::GetIO().WantCaptureKeyboard);
}

TEST_F(Controls, SliderTakesTypedNumbers) {
    double value = 2;
    int finished = 0;
    const auto contents = [&] { narrow([&] { finished += slider_row(ui, "temperature", value, {.min = 0.1, .max = 10}).finished; }); };
    frames(2, contents);
    const auto start_typing = [&] {
        hold_modifiers(true, false);
        click(60, 29, contents);
        hold_modifiers(false, false);
        frames(3, contents);
    };
    start_typing();
    EXPECT_EQ(value, 2) << "Ctrl-click types, it does not drag";
    finished = 0;
    type("7.25", contents);
    EXPECT_EQ(value, 2) << "not before Enter";
    press(Key::Enter, contents);
    EXPECT_EQ(value, 7.25);
    EXPECT_EQ(finished, 1);

    start_typing();
    type("400", contents);
    press(Key::Enter, contents);
    EXPECT_EQ(value, 10) << "clamped";

    start_typing();
    type("3", contents);
    press(Key::Escape, contents);
    EXPECT_EQ(value, 10) << "cancelled";

    start_typing();
    type("abc", contents);
    press(Key::Enter, contents);
    EXPECT_EQ(value, 10) << "no number";

    click(60, 8, contents);
    frame(contents);
    click(60, 8, contents);
    frames(3, contents);
    type("4", contents);
    press(Key::Enter, contents);
    EXPECT_EQ(value, 4) << "a double click on the label types too";

    click(60, 8, contents);
    frames(3, contents);
    EXPECT_FALSE(ImGui::GetIO().WantTextInput) << "a click on the label does nothing";
    click(196, 8, contents);
    frames(3, contents);
    EXPECT_TRUE(ImGui::GetIO().WantTextInput) << "a click on the number types";
    type("5", contents);
    press(Key::Enter, contents);
    EXPECT_EQ(value, 5);
}

TEST_F(Controls, DisabledSliderStaysPut) {
    int value = 3;
    const auto contents = [&] { narrow([&] { slider_row(ui, "heads", value, {.min = 1, .max = 9, .notes = {.disabled = "no"}}); }); };
    frames(2, contents);
    drag(ImVec2(100, 29), ImVec2(190, 29), contents);
    EXPECT_EQ(value, 3);
}

TEST_F(Controls, SliderScalesInvert) {
    const SliderOptions linear{.min = -2, .max = 6}, log{.min = 1e-5, .max = 1, .log = true}, grid{.min = 8, .max = 128, .step = 8};
    for (const double t : {0.0, 0.25, 0.5, 1.0}) EXPECT_NEAR(slider_fraction(slider_value(t, linear), linear), t, 1e-12);
    EXPECT_NEAR(slider_value(0.4, log), 1e-3, 1e-9);
    EXPECT_NEAR(slider_fraction(1e-3, log), 0.4, 1e-9);
    EXPECT_EQ(slider_value(1, log), 1.0);
    for (int i = 0; i <= 100; ++i) EXPECT_EQ(std::fmod(slider_value(i / 100.0, grid), 8.0), 0.0);
    EXPECT_EQ(slider_fraction(5, {.min = 3, .max = 3}), 0);
    EXPECT_EQ(slider_value(0.7, {.min = 3, .max = 3}), 3);
}

TEST_F(Controls, ToggleFlipsOnlyWhenClicked) {
    bool on = false;
    int flips = 0;
    const auto contents = [&] { narrow([&] { flips += toggle_row(ui, "Causal", on, "a token attends to itself and the past"); }); };
    frames(2, contents);
    EXPECT_EQ(flips, 0);
    click(180, 10, contents);
    EXPECT_TRUE(on);
    EXPECT_EQ(flips, 1);
    click(10, 10, contents);
    EXPECT_FALSE(on) << "the label is part of the switch";
    click(400, 10, contents);
    EXPECT_EQ(flips, 2);
}

TEST_F(Controls, SegmentedWrapsAndChooses) {
    const std::array<std::string_view, 12> names{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"};
    int chosen = 0, changes = 0;
    const auto contents = [&] { narrow([&] { changes += segmented(ui, "head", names, chosen); }); };
    frames(2, contents);
    click(40 + 5, 10, contents);  // 34 wide, 4 between
    EXPECT_EQ(chosen, 1);
    click(10, 30 + 10, contents);
    EXPECT_EQ(chosen, 5) << "five pills fit into 200 pixels";
    click(10, 30 + 10, contents);
    EXPECT_EQ(changes, 2) << "the chosen one again is no change";
}

TEST_F(Controls, TabsButtonsAndDropDown) {
    const std::array<std::string_view, 2> names{"Step", "Heads"};
    int shown = 0, pressed = 0, choice = 0;
    const auto contents = [&] {
        for (int i = 0; i < 2; ++i) {
            if (i > 0) ImGui::SameLine(0, 0);
            if (tab(ui, names[static_cast<std::size_t>(i)], shown == i)) shown = i;
        }
        pressed += button(ui, "Run", {.width = 100});
        pressed += 10 * button(ui, "Stop", {.width = 100, .notes = {.disabled = "nothing runs"}});
        drop_down(ui, "choice", names, choice, 120);
    };
    frames(2, contents);
    EXPECT_GT(vertices(), 100);
    const float width = tab_width(ui, names[1]);
    click(tab_width(ui, names[0]) + width - 20, 20, contents);
    EXPECT_EQ(shown, 1);
    EXPECT_EQ(tab_width(ui, names[1]), width) << "choosing another tab moves nothing";
    const float y = 48 + ImGui::GetStyle().ItemSpacing.y + 15, step = 30 + ImGui::GetStyle().ItemSpacing.y;
    click(20, y, contents);
    click(20, y + step, contents);
    EXPECT_EQ(pressed, 1);
    click(20, y + 2 * step, contents);
    frames(2, contents);
    click(40, y + 2 * step + 15 + 4 + 6 + 28 + 14, contents);
    EXPECT_EQ(choice, 1);
}

TEST_F(Controls, AMenuTabOpensItsMenu) {
    std::string chosen;
    const auto contents = [&] {
        if (!begin_menu_tab(ui, "more", "More", false)) return;
        for (const char* name : {"Totals", "Lens"})
            if (menu_item(ui, name)) chosen = name;
        end_menu_button();
    };
    frames(2, contents);
    click(30, 24, contents);
    frames(2, contents);
    click(30, 48 + 4 + 6 + 29 + 14, contents);
    EXPECT_EQ(chosen, "Lens");
}

TEST_F(Controls, ColourMenuChoosesAndStaysOpenForARangeByHand) {
    ColorOptions options;
    int changes = 0;
    bool open = false;
    const auto contents = [&] {
        changes += color_menu(ui, "colours", options, false, resolve_style(options, false, -3, 5));
        open = ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel);
    };
    frames(2, contents);
    click(10, 8, contents);
    frames(2, contents);
    EXPECT_TRUE(open);
    // 21 pixels down to the menu, whose first line has the pills automatic, fixed and each row.
    for (float x = 20; x < 300 && options.range != RangeMode::Manual; x += 8) click(x, 21 + 26 + 14, contents);
    EXPECT_EQ(options.range, RangeMode::Manual);
    EXPECT_EQ(options.lo, -5) << "starts from what is shown";
    EXPECT_EQ(options.hi, 5);
    EXPECT_TRUE(open);
    EXPECT_GE(changes, 1);
    // The two ends are below the pills; either can be dragged.
    for (int y = 80; y < 140 && options.lo == -5 && options.hi == 5; y += 5)
        drag(ImVec2(70, static_cast<float>(y)), ImVec2(130, static_cast<float>(y)), contents);
    EXPECT_GT(options.lo, -5);
    EXPECT_EQ(options.hi, 5);
    EXPECT_EQ(options.range, RangeMode::Manual);
}

}  // namespace
}  // namespace attn::app
