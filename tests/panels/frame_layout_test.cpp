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
    for (const Box& box : {layout.text, layout.next, layout.lesson, layout.left, layout.centre, layout.right, layout.strip})
        if (pane_there(box)) shown.push_back(box);
    if (!needs.panes.only_centre) shown.push_back(layout.top);
    for (const Box& box : shown)
        if (!pane_inside(box, size)) return "a pane reaches out of the window";
    for (std::size_t i = 0; i < shown.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (!panes_apart(shown[i], shown[j])) return "two panes lie on each other";
    for (const Box& drawer : {layout.left_drawer, layout.right_drawer})
        if (pane_there(drawer) && (drawer.min.x < layout.centre.min.x || drawer.max.x > layout.centre.max.x ||
                                   drawer.min.y != layout.centre.min.y || drawer.max.y != layout.centre.max.y))
            return "an open pane lies on more than the picture";
    if (size.x / scale >= 900 && size.y / scale >= 600 && needs.lesson == 0 &&
        (layout.centre.width() / scale < 439 || layout.centre.height() / scale < 399))
        return "the picture is too small";
    return "";
}

FrameNeeds random_needs(std::mt19937& random, float scale, float window_height) {
    const auto coin = [&] { return random() % 2 == 0; };
    FrameNeeds needs;
    needs.panes.left = random() % 4 != 0;
    needs.panes.right = random() % 4 != 0;
    needs.panes.strip = random() % 4 != 0;
    needs.panes.thumbnails = coin();
    needs.panes.only_centre = random() % 8 == 0;
    needs.panes.left_open = coin();
    needs.panes.right_open = coin();
    if (coin()) needs.panes.left_width = static_cast<float>(random() % 900);
    if (coin()) needs.panes.right_width = static_cast<float>(random() % 900);
    if (coin()) needs.panes.strip_height = static_cast<float>(random() % 900);
    // The row of candidates is shown unless the window is low.
    if (coin() && window_height >= 680 && !needs.panes.only_centre) needs.next_row = 44 * scale;
    return needs;
}

TEST(FrameLayout, NothingOverlapsAndNothingLiesOutside) {
    std::mt19937 random(3);
    for (int round = 0; round < 20000; ++round) {
        const float scale = round % 3 == 0 ? 2.F : round % 3 == 1 ? 1.F : 1.25F;
        const ImVec2 logical{static_cast<float>(900 + random() % 3000), static_cast<float>(600 + random() % 1700)};
        const ImVec2 size{std::floor(logical.x * scale), std::floor(logical.y * scale)};
        const FrameNeeds needs = random_needs(random, scale, logical.y);
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

/// The window sizes at which panes collapse, as specified in look.md.
TEST(FrameLayout, FoldsInTheOrderOfTheDesign) {
    const auto at = [](float width, float height) {
        FrameNeeds needs;
        needs.next_row = height >= 680 ? 44 : 0;
        return lay_out_frame(needs, {width, height}, 1);
    };
    EXPECT_FALSE(at(1180, 900).left_rail);
    EXPECT_TRUE(at(1179, 900).left_rail);
    EXPECT_EQ(at(1179, 900).left.width(), 44);
    EXPECT_FALSE(at(1100, 900).right_tab);
    EXPECT_TRUE(at(1099, 900).right_tab);
    EXPECT_EQ(at(1279, 900).right.width(), 264);
    EXPECT_EQ(at(1600, 1000).left.width(), 248);
    EXPECT_EQ(at(1600, 1000).right.width(), 328);
    EXPECT_EQ(at(2560, 1440).left.width(), 300);
    EXPECT_EQ(at(2560, 1440).right.width(), 440);
    EXPECT_EQ(at(1600, 1000).strip_look, StripLook::Full);
    EXPECT_EQ(at(1600, 1000).strip.height(), 178);
    EXPECT_EQ(at(1280, 720).strip_look, StripLook::Map);
    EXPECT_EQ(at(1280, 720).strip.height(), 68);
    EXPECT_EQ(at(900, 679).strip_look, StripLook::Line);
    EXPECT_EQ(at(900, 600).strip.height(), 32);
    FrameNeeds folded;
    folded.panes.thumbnails = false;
    EXPECT_EQ(lay_out_frame(folded, {2560, 1440}, 1).strip_look, StripLook::Map);
    // A display with twice the density has the same layout at the same logical size.
    const FrameLayout one = at(1280, 720);
    FrameNeeds needs;
    needs.next_row = 88;
    const FrameLayout two = lay_out_frame(needs, {2560, 1440}, 2);
    EXPECT_EQ(two.centre.width(), 2 * one.centre.width());
    EXPECT_EQ(two.strip_look, one.strip_look);
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
