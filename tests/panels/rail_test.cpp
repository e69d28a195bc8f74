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
    EXPECT_EQ(find_window("##all_settings"), nullptr);
    EXPECT_EQ(find_window("##cell"), nullptr);
    ASSERT_NE(find_window("##rail"), nullptr);
    EXPECT_EQ(find_window("##rail")->Size.x, 44);
    type("1", ui_frame);
    type("2", ui_frame);
    frames(2, ui_frame);
    ASSERT_NE(find_window("##all_settings"), nullptr);
    ASSERT_NE(find_window("##cell"), nullptr);
    const ImRect picture = find_window("##centre")->Rect();
    EXPECT_TRUE(picture.Contains(find_window("##all_settings")->Rect()));
    EXPECT_TRUE(picture.Contains(find_window("##cell")->Rect()));
    press(Key::Escape, ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(find_window("##all_settings"), nullptr);
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

/// The two switches of the masks are never folded away.
TEST_F(RailTest, HasTheMaskSwitchesAndTheButtonOfAllSettings) {
    start();
    const ImRect rail = find_window("##rail")->Rect();
    const MaskSettings before = session->document().forward.masks;
    const auto click_at = [&](float y) {
        click(rail.GetCenter().x, rail.Min.y + y, ui_frame);
        frames(2, ui_frame);
    };
    click_at(6 + 30);
    EXPECT_NE(session->document().forward.masks.causal, before.causal);
    EXPECT_EQ(session->document().forward.masks.padding, before.padding);
    click_at(6 + 44 + 6 + 30);
    EXPECT_NE(session->document().forward.masks.padding, before.padding);
    click_at(6 + 44 + 6 + 44 + 17 + 20);
    EXPECT_TRUE(view.panes.left_open);
}

TEST_F(RailTest, TheDrawersHideThePictureBelowThem) {
    start();
    view.panes.left_open = view.panes.right_open = true;
    frames(3, ui_frame);
    for (const char* name : {"##all_settings", "##cell"}) {
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
    const ImRect drawer = find_window("##all_settings")->Rect();
    move_mouse(drawer.GetCenter().x, drawer.GetCenter().y);
    frames(2, ui_frame);
    EXPECT_TRUE(view.hovered.empty());
    EXPECT_EQ(std::string_view(ImGui::GetCurrentContext()->HoveredWindow->Name).find("##centre"), std::string_view::npos);
}

}  // namespace
}  // namespace attn::app::test
