#pragma once
/// Panels and widgets without a window: an ImGui context, frames on demand, a mouse and a keyboard moved by the test.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/ui.hpp"

namespace attn::app::test {

/// Notes what was asked; colours every value by its place between lo and hi, from black to white.
class NullCanvas : public Canvas {
public:
    struct Call {
        ImVec2 min, max;
        HeatmapRequest request;
    };
    std::vector<Call> calls;

    void heatmap(ImDrawList&, const ImVec2& min, const ImVec2& max, const HeatmapRequest& request) override {
        calls.push_back({min, max, request});
    }
    std::uint32_t color(const HeatmapStyle& style, float value) const override;
};

/// One context a test. Each `frame` draws `contents` into one window that fills the display, from (0, 0) and without padding.
class ImGuiFixture : public ::testing::Test {
protected:
    ImGuiFixture();
    ~ImGuiFixture() override;

    /// Draws one frame; the mouse and keys are as they were left.
    void frame(const std::function<void()>& contents);
    /// Several frames in which nothing happens.
    void frames(int count, const std::function<void()>& contents);

    void move_mouse(float x, float y);
    void mouse_button(int button, bool down);
    /// Moves, presses and lets go, with a frame for each.
    void click(float x, float y, const std::function<void()>& contents, int button = 0);
    /// Presses at one place and lets go at another, in `steps` moves.
    void drag(ImVec2 from, ImVec2 to, const std::function<void()>& contents, int steps = 4);
    void wheel(float turns, const std::function<void()>& contents);
    void hold(Key key, bool down);
    void hold(char letter_or_digit, bool down);
    void hold_modifiers(bool ctrl, bool shift);
    /// Presses and lets go, with a frame for each.
    void press(Key key, const std::function<void()>& contents);
    void press(char letter_or_digit, const std::function<void()>& contents);
    void type(std::string_view text, const std::function<void()>& contents);

    /// Vertices that the last frame drew.
    int vertices() const { return vertices_; }

    bool contents_have_windows = false;  ///< they begin and end their own instead of drawing into the test's
    NullCanvas canvas;
    Theme theme;
    Ui ui{theme, canvas};

private:
    void in_window(const std::function<void()>& contents);
    void set_key(int index, bool down);

    ImGuiContext* context_;
    int vertices_ = 0;
};

}  // namespace attn::app::test
