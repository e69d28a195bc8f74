/// Zooming the picture with its controls and with keys.

#include <gtest/gtest.h>

#include <algorithm>

#include "app/widgets/zoom_bar.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"

namespace attn::app::test {
namespace {

class ZoomTest : public InterfaceFixture {
protected:
    NullCanvas::Call result() const {
        return *std::max_element(canvas.calls.begin(), canvas.calls.end(), [](const auto& a, const auto& b) {
            return (a.max.x - a.min.x) * (a.max.y - a.min.y) < (b.max.x - b.min.x) * (b.max.y - b.min.y);
        });
    }
    const HeatmapViewState& zoom() { return view.zooms["layers.0.attention.weights"]; }
    int zoom_controls() const {
        int count = 0;
        for (const FocusStop& stop : view.focus.stops()) count += stop.label == "##fit" || stop.label == "##in" || stop.label == "##out";
        return count;
    }
    void start() {
        open_example("causal-attention");
        view.stage = {Stage::Weights, 0};
        frames(20, ui_frame);
    }
};

TEST_F(ZoomTest, TheBarIsThereWhileTheMapIsPointedAtOrZoomed) {
    start();
    move_mouse(5, 5);
    frames(2, ui_frame);
    EXPECT_EQ(zoom_controls(), 0);
    const auto map = result();
    move_mouse((map.min.x + map.max.x) / 2, (map.min.y + map.max.y) / 2);
    frames(2, ui_frame);
    EXPECT_EQ(zoom_controls(), 3);
    wheel(2, ui_frame);
    move_mouse(5, 5);
    frames(2, ui_frame);
    EXPECT_EQ(zoom_controls(), 3) << "it is zoomed";
    type("f", ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(zoom_controls(), 0);
}

TEST_F(ZoomTest, ItsButtonsZoomAndFit) {
    start();
    const auto map = result();
    // The mouse moves from the cells down to the bar, which stays visible.
    move_mouse(map.max.x - 20, map.max.y - 5);
    frames(2, ui_frame);
    const ImVec2 size = zoom_bar_size(ui);
    const float y = map.max.y + 5 + size.y / 2, left = map.max.x - size.x;
    for (float at = map.max.y - 4; at < y; at += 3) {
        move_mouse(map.max.x - 20, at);
        frame(ui_frame);
        ASSERT_EQ(zoom_controls(), 3) << at;
    }
    click(left + 22 + 46 + 10, y, ui_frame);
    EXPECT_GT(zoom().cols.zoom, 1.2F);
    EXPECT_EQ(zoom().cols.zoom, zoom().rows.zoom);
    const float once = zoom().cols.zoom;
    click(left + 22 + 46 + 10, y, ui_frame);
    EXPECT_GT(zoom().cols.zoom, once);
    click(left + 10, y, ui_frame);
    EXPECT_NEAR(zoom().cols.zoom, once, 1e-3F);
    click(left + size.x - 10, y, ui_frame);
    EXPECT_TRUE(zoom().whole());
}

TEST_F(ZoomTest, PlusAndMinusZoomAndADoubleClickBesideTheCellsFits) {
    start();
    move_mouse(5, 5);
    frames(2, ui_frame);
    type("+", ui_frame);
    type("+", ui_frame);
    EXPECT_NEAR(zoom().cols.zoom, 1.44F, 1e-3F);
    type("-", ui_frame);
    EXPECT_NEAR(zoom().cols.zoom, 1.2F, 1e-3F);
    const auto map = result();
    const float x = (map.min.x + map.max.x) / 2, y = map.min.y - 10;
    click(x, y, ui_frame);
    EXPECT_FALSE(zoom().whole());
    click(x, y, ui_frame);
    EXPECT_TRUE(zoom().whole());
    EXPECT_TRUE(commands.empty());
}

TEST(ZoomWords, SayHowFar) {
    EXPECT_EQ(zoom_words({}), "100 %");
    EXPECT_EQ(zoom_words({.rows = {.zoom = 2.5F}, .cols = {.zoom = 1}}), "250 %");
    EXPECT_EQ(zoom_words({.rows = {.zoom = 12}, .cols = {.zoom = 40}}), "40 ×");
}

}  // namespace
}  // namespace attn::app::test
