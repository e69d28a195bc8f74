#pragma once
/// Tests panels and widgets without a window: an ImGui context with frames on demand and simulated mouse and keyboard.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/ui.hpp"

namespace attn::app::test {

/// Records requests; colours every value by its position between lo and hi, from black to white.
class NullCanvas : public Canvas {
public:
    struct Call {
        ImVec2 min, max;
        HeatmapRequest request;
        std::int64_t alarming = 0;  ///< of a small map: cells in the colour of what is not finite
    };
    std::vector<Call> calls;

    void heatmap(ImDrawList&, const ImVec2& min, const ImVec2& max, const HeatmapRequest& request) override;
    std::uint32_t color(const HeatmapStyle& style, float value) const override;
};

/// One context per test. Each `frame` draws `contents` into a window that fills the display, from (0, 0) and without padding.
class ImGuiFixture : public ::testing::Test {
protected:
    ImGuiFixture();
    ~ImGuiFixture() override;

    /// Draws a frame with the current mouse and key state.
    void frame(const std::function<void()>& contents);
    /// Draws several frames without input.
    void frames(int count, const std::function<void()>& contents);

    void move_mouse(float x, float y);
    void mouse_button(int button, bool down);
    /// Moves, presses and releases, with a frame for each.
    void click(float x, float y, const std::function<void()>& contents, int button = 0);
    /// Presses at one position and releases at another, moving in `steps` steps.
    void drag(ImVec2 from, ImVec2 to, const std::function<void()>& contents, int steps = 4);
    void wheel(float turns, const std::function<void()>& contents);
    void hold(Key key, bool down);
    void hold(char letter_or_digit, bool down);
    void hold_modifiers(bool ctrl, bool shift);
    /// Presses and releases, with a frame for each.
    void press(Key key, const std::function<void()>& contents);
    void press(char letter_or_digit, const std::function<void()>& contents);
    void type(std::string_view text, const std::function<void()>& contents);

    /// The number of vertices in the last frame.
    int vertices() const { return vertices_; }

    bool contents_have_windows = false;  ///< contents create their own windows instead of drawing into the test's
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
