#include "app/panels/frame/frame_layout.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace attn::app {
namespace {

bool panes_apart(const Box& a, const Box& b) {
    return a.max.x <= b.min.x || b.max.x <= a.min.x || a.max.y <= b.min.y || b.max.y <= a.min.y;
}
bool pane_inside(const Box& box, const ImVec2& size) {
    return box.min.x >= 0 && box.min.y >= 0 && box.max.x <= size.x && box.max.y <= size.y;
}
bool pane_there(const Box& box) { return box.width() >= 1 && box.height() >= 1; }

/// What is wrong with the layout for a window of this size, "" if nothing is.
std::string wrong_frame(const FrameLayout& layout, const FrameNeeds& needs, const ImVec2& size, float scale) {
    std::vector<Box> shown;
    for (const Box& box : {layout.row, layout.lesson, layout.left, layout.centre, layout.right, layout.strip})
        if (pane_there(box)) shown.push_back(box);
    if (!needs.panes.only_centre) shown.push_back(layout.top);
    for (const Box& box : shown)
        if (!pane_inside(box, size)) return "a pane reaches out of the window";
    for (std::size_t i = 0; i < shown.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (!panes_apart(shown[i], shown[j])) return "two panes lie on each other";
    for (const Box& drawer : {layout.left_drawer, layout.right_drawer})
        if (pane_there(drawer) &&
            (drawer.min.x < std::min(layout.left_rail ? size.x : layout.left.min.x, layout.centre.min.x) ||
             drawer.max.x > layout.centre.max.x || drawer.min.y != layout.centre.min.y || drawer.max.y != layout.centre.max.y))
            return "an open pane lies on more than the picture";
    if (size.x / scale >= 900 && size.y / scale >= 600 && needs.lesson == 0 &&
        (layout.centre.width() / scale < 439 || layout.centre.height() / scale < 359))
        return "the picture is too small";
    return "";
}

FrameNeeds random_needs(std::mt19937& random) {
    const auto coin = [&] { return random() % 2 == 0; };
    FrameNeeds needs;
    needs.panes.left = random() % 4 != 0;
    needs.panes.right = random() % 4 != 0;
    needs.panes.strip = random() % 4 != 0;
    if (coin()) needs.panes.map = coin();
    needs.panes.only_centre = random() % 8 == 0;
    needs.panes.left_open = coin();
    needs.panes.right_open = coin();
    if (coin()) needs.panes.left_width = static_cast<float>(random() % 900);
    if (coin()) needs.panes.right_width = static_cast<float>(random() % 900);
    return needs;
}

TEST(FrameLayout, NothingOverlapsAndNothingLiesOutside) {
    std::mt19937 random(3);
    for (int round = 0; round < 20000; ++round) {
        const float scale = round % 3 == 0 ? 2.F : round % 3 == 1 ? 1.F : 1.25F;
        const ImVec2 logical{static_cast<float>(900 + random() % 3000), static_cast<float>(600 + random() % 1700)};
        const ImVec2 size{std::floor(logical.x * scale), std::floor(logical.y * scale)};
        const FrameNeeds needs = random_needs(random);
        EXPECT_EQ(wrong_frame(lay_out_frame(needs, size, scale), needs, size, scale), "") << size.x << " x " << size.y << " at " << scale;
    }
}

TEST(FrameLayout, TheCheckFindsAPaneOnAnother) {
    const FrameNeeds needs;
    const ImVec2 size{1600, 1000};
    FrameLayout layout = lay_out_frame(needs, size, 1);
    ASSERT_EQ(wrong_frame(layout, needs, size, 1), "");
    layout.centre.max.x += 13;
    EXPECT_NE(wrong_frame(layout, needs, size, 1), "");
    layout = lay_out_frame(needs, size, 1);
    layout.strip.max.y = 1001;
    EXPECT_NE(wrong_frame(layout, needs, size, 1), "");
}

/// The window sizes at which panes collapse, as specified in the design of the frame.
TEST(FrameLayout, FoldsInTheOrderOfTheDesign) {
    const auto at = [](float width, float height) { return lay_out_frame({}, {width, height}, 1); };
    EXPECT_FALSE(at(1180, 900).left_rail);
    EXPECT_TRUE(at(1179, 900).left_rail);
    EXPECT_EQ(at(1179, 900).left.width(), 44);
    EXPECT_FALSE(at(1100, 900).right_tab);
    EXPECT_TRUE(at(1099, 900).right_tab);
    EXPECT_EQ(at(1099, 900).right.width(), 28);
    EXPECT_EQ(at(1399, 900).right.width(), 276);
    EXPECT_EQ(at(1400, 900).right.width(), 324);
    EXPECT_EQ(at(1600, 1000).left.width(), 208);
    EXPECT_EQ(at(2560, 1440).left.width(), 300);
    EXPECT_EQ(at(2560, 1440).right.width(), 440);
    struct Case {
        float width, height;
        StripLook look;
        float strip, centre_width, centre_height;
        bool map;
    };
    for (const Case& one :
         {Case{2560, 1440, StripLook::Pictures, 176, 1764, 1124, true}, Case{1600, 1000, StripLook::Pictures, 112, 1012, 748, false},
          Case{1280, 720, StripLook::Names, 48, 740, 532, false}, Case{900, 600, StripLook::Line, 32, 772, 428, false}}) {
        const FrameLayout layout = at(one.width, one.height);
        EXPECT_EQ(layout.strip_look, one.look) << one.width;
        EXPECT_EQ(layout.map, one.map) << one.width;
        EXPECT_EQ(layout.strip.height(), one.strip) << one.width;
        EXPECT_EQ(layout.centre.width(), one.centre_width);
        EXPECT_EQ(layout.centre.height(), one.centre_height);
    }
    EXPECT_EQ(at(1280, 799).strip_look, StripLook::Names);
    EXPECT_EQ(at(1280, 800).strip_look, StripLook::Pictures);
    EXPECT_EQ(at(1280, 639).strip_look, StripLook::Line);
    FrameNeeds without_map;
    without_map.panes.map = false;
    EXPECT_EQ(lay_out_frame(without_map, {2560, 1440}, 1).strip.height(), 112);
    FrameNeeds with_map;
    with_map.panes.map = true;
    EXPECT_EQ(lay_out_frame(with_map, {1600, 1000}, 1).strip.height(), 176);
    // A display with twice the density has the same layout at the same logical size.
    const FrameLayout one = at(1280, 720), two = lay_out_frame({}, {2560, 1440}, 2);
    EXPECT_EQ(two.centre.width(), 2 * one.centre.width());
    EXPECT_EQ(two.strip_look, one.strip_look);
}

/// All settings lie over the short pane and the edge of the picture; beside the rail, over the picture alone.
TEST(FrameLayout, AllSettingsOpenOverThePicture) {
    FrameNeeds needs;
    EXPECT_FALSE(pane_there(lay_out_frame(needs, {1600, 1000}, 1).left_drawer));
    needs.panes.left_open = true;
    const FrameLayout wide = lay_out_frame(needs, {1600, 1000}, 1);
    EXPECT_EQ(wide.left_drawer.min.x, wide.left.min.x);
    EXPECT_EQ(wide.left_drawer.width(), 300);
    const FrameLayout narrow = lay_out_frame(needs, {1000, 800}, 1);
    EXPECT_EQ(narrow.left_drawer.min.x, narrow.centre.min.x);
    EXPECT_EQ(narrow.left_drawer.width(), 300);
}

TEST(FrameLayout, AWidthThatWasChosenStays) {
    FrameNeeds needs;
    needs.panes.left_width = 260;
    needs.panes.right_width = 350;
    for (const float width : {1600.F, 2560.F, 3840.F}) {
        EXPECT_EQ(lay_out_frame(needs, {width, 1440}, 1).left.width(), 260);
        EXPECT_EQ(lay_out_frame(needs, {width, 1440}, 1).right.width(), 350);
    }
}

}  // namespace
}  // namespace attn::app
