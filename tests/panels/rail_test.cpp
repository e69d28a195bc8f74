/// Side panes collapsed in a narrow window.

#include "app/panels/frame/rail.hpp"

#include <gtest/gtest.h>

#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"

namespace attn::app::test {
namespace {

class RailTest : public InterfaceFixture {
protected:
    RailTest() { ImGui::GetIO().DisplaySize = {1000, 700}; }
    void start() {
        open_example("causal-attention");
        view.stage = {Stage::Weights, 0};
        frames(3, ui_frame);
    }
};

TEST_F(RailTest, KeysOpenTheFoldedPanesOverThePictureAndEscapeClosesThem) {
    start();
    EXPECT_EQ(find_window("##settings"), nullptr);
    EXPECT_EQ(find_window("##cell"), nullptr);
    ASSERT_NE(find_window("##rail"), nullptr);
    EXPECT_EQ(find_window("##rail")->Size.x, 44);
    type("1", ui_frame);
    type("2", ui_frame);
    frames(2, ui_frame);
    ASSERT_NE(find_window("##settings"), nullptr);
    ASSERT_NE(find_window("##cell"), nullptr);
    const ImRect picture = find_window("##centre")->Rect();
    EXPECT_TRUE(picture.Contains(find_window("##settings")->Rect()));
    EXPECT_TRUE(picture.Contains(find_window("##cell")->Rect()));
    press(Key::Escape, ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(find_window("##settings"), nullptr);
    EXPECT_EQ(find_window("##cell"), nullptr);
    EXPECT_TRUE(view.panes.left && view.panes.right) << "in a wide window they are still there";
    ImGui::GetIO().DisplaySize = {1600, 1000};
    frames(3, ui_frame);
    EXPECT_NE(find_window("##settings"), nullptr);
    EXPECT_EQ(find_window("##rail"), nullptr);
    type("1", ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(find_window("##settings"), nullptr);
}

/// Every initial leads to an open section, at the top of the pane if there is enough below it.
TEST_F(RailTest, AnInitialOpensTheSettingsAtItsSection) {
    start();
    const ImRect rail = find_window("##rail")->Rect();
    float scrolled = -1;
    int sections = 0;
    view.settings.folded = {"masks", "model", "softmax"};
    for (float y = rail.Min.y + 6 + 36 + 17; y < rail.Min.y + 6 + 36 * 10; y += 36) {
        view.panes.left_open = false;
        frames(2, ui_frame);
        click(rail.GetCenter().x, y, ui_frame);
        if (!view.panes.left_open) break;
        frames(4, ui_frame);
        EXPECT_FALSE(view.panes.reveal.size()) << "some part has that name";
        ASSERT_NE(find_window("##settings"), nullptr);
        const ImGuiWindow* settings = find_window("##sections");  // they scroll above the tour button
        ASSERT_NE(settings, nullptr);
        EXPECT_GE(settings->Scroll.y, scrolled) << "sections come in the order of the rail";
        EXPECT_TRUE(settings->Scroll.y > scrolled || settings->Scroll.y == settings->ScrollMax.y) << sections;
        scrolled = settings->Scroll.y;
        ++sections;
    }
    EXPECT_GE(sections, 8);
    EXPECT_TRUE(view.settings.folded.empty()) << "each that was asked for is open";
    EXPECT_GT(scrolled, 300);
}

TEST_F(RailTest, TheDrawersHideThePictureBelowThem) {
    start();
    view.panes.left_open = view.panes.right_open = true;
    frames(3, ui_frame);
    for (const char* name : {"##settings", "##cell"}) {
        const ImGuiWindow* drawer = find_window(name);
        ASSERT_NE(drawer, nullptr) << name;
        // What a window's parent draws is below the picture, which is a window, too.
        const auto& drawn = drawer->DrawList->VtxBuffer;
        ImRect filled(drawer->Rect().GetCenter(), drawer->Rect().GetCenter());
        for (const ImDrawVert& corner : drawn)
            if (corner.col == theme.colors.pane) filled.Add(corner.pos);
        ImRect inside = drawer->Rect();
        inside.Expand(-2);
        EXPECT_TRUE(filled.Contains(inside)) << name;
    }
}

TEST_F(RailTest, TheDrawerIsInFrontOfThePicture) {
    start();
    view.panes.left_open = true;
    frames(3, ui_frame);
    const ImRect drawer = find_window("##settings")->Rect();
    move_mouse(drawer.GetCenter().x, drawer.GetCenter().y);
    frames(2, ui_frame);
    EXPECT_TRUE(view.hovered.empty());
    EXPECT_EQ(std::string_view(ImGui::GetCurrentContext()->HoveredWindow->Name).find("##centre"), std::string_view::npos);
}

}  // namespace
}  // namespace attn::app::test
