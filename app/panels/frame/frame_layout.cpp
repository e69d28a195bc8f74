#include "app/panels/frame/frame_layout.hpp"

#include <algorithm>
#include <cmath>

#include "app/panels/kit/pane.hpp"

namespace attn::app {
namespace {

// In logical pixels:
constexpr float kRail = 44, kTab = 28, kDrawer = 300, kNarrowRight = 276;
constexpr float kStripPictures = 112, kStripNames = 48, kStripLine = 32;
constexpr float kPicturesFrom = 800, kNamesFrom = 640;  // heights of the window
constexpr float kLeastPicture = 440, kLeastHeight = 230;

/// Interpolates between two widths as the window grows from 1600 to 2560.
float grown(float from, float to, float window_width) { return from + (to - from) * std::clamp((window_width - 1600) / 960, 0.F, 1.F); }

float strip_height(StripLook look, bool map) {
    switch (look) {
    case StripLook::None:
        return 0;
    case StripLook::Line:
        return kStripLine;
    case StripLook::Names:
        return kStripNames + (map ? kMapBand : 0);
    case StripLook::Pictures:
        return kStripPictures + (map ? kMapBand : 0);
    }
    return 0;
}

struct Strip {
    StripLook look = StripLook::None;
    bool map = false;
};

/// The one that belongs to a window of this height, or a lower one if a lesson leaves the picture too little. `body`: the height shared by
/// picture and strip, in logical pixels.
Strip strip_for(const PaneState& panes, float body, float window_height) {
    if (!panes.strip || panes.only_centre) return {};
    const auto leaves_room = [&](StripLook look, bool map) { return body - strip_height(look, map) - kFrameGap >= kLeastHeight; };
    const bool map = opens_map(panes, window_height);
    if (window_height >= kPicturesFrom) {
        if (map && leaves_room(StripLook::Pictures, true)) return {StripLook::Pictures, true};
        if (leaves_room(StripLook::Pictures, false)) return {StripLook::Pictures, false};
    }
    if (window_height >= kNamesFrom) {
        if (map && leaves_room(StripLook::Names, true)) return {StripLook::Names, true};
        if (leaves_room(StripLook::Names, false)) return {StripLook::Names, false};
    }
    return {leaves_room(StripLook::Line, false) ? StripLook::Line : StripLook::None, false};
}

/// If both side panes are too wide, shrinks the right one first, then the left one.
void leave_room(FrameLayout& layout, float window_width, bool left, bool right) {
    const float room = window_width - 2 * kFrameMargin - kLeastPicture - (left ? kFrameGap : 0) - (right ? kFrameGap : 0);
    if (right) layout.right_width = std::min(layout.right_width, std::max(room - (left ? layout.left_width : 0), kMinRight));
    if (left) layout.left_width = std::min(layout.left_width, std::max(room - (right ? layout.right_width : 0), kMinLeft));
}

}  // namespace

float left_pane_width(const PaneState& panes, float window_width) {
    const bool untouched = panes.left_width == PaneState{}.left_width;
    return std::clamp(untouched ? grown(panes.left_width, kDrawer, window_width) : panes.left_width, kMinLeft, kMaxSide);
}

float right_pane_width(const PaneState& panes, float window_width) {
    const bool untouched = panes.right_width == PaneState{}.right_width;
    const float width = std::clamp(untouched ? grown(panes.right_width, 440, window_width) : panes.right_width, kMinRight, kMaxSide);
    return window_width < 1400 ? std::min(width, kNarrowRight) : width;
}

FrameLayout lay_out_frame(const FrameNeeds& needs, const ImVec2& size, float scale) {
    const auto px = [scale](float logical) { return std::floor(logical * scale); };
    const PaneState& panes = needs.panes;
    const float width = size.x / scale, margin = px(kFrameMargin), gap = px(kFrameGap);
    FrameLayout layout;
    float top = panes.only_centre ? margin : px(kTopBar + kFrameGap + (needs.both_texts ? kSecondRow : 0) + kTextRow + kFrameGap);
    float bottom = size.y - margin;
    layout.top = {{0, 0}, {size.x, px(kTopBar)}};
    if (!panes.only_centre) layout.row = {{0, px(kTopBar)}, {size.x, top}};
    if (needs.lesson > 0) {
        layout.lesson = {{margin, top}, {size.x - margin, top + needs.lesson}};
        top = layout.lesson.max.y + gap;
    }
    const Strip strip = strip_for(panes, (bottom - top) / scale, size.y / scale);
    layout.strip_look = strip.look;
    layout.map = strip.map;
    if (strip.look != StripLook::None) {
        layout.strip = {{margin, bottom - px(strip_height(strip.look, strip.map))}, {size.x - margin, bottom}};
        bottom = layout.strip.min.y - gap;
    }
    layout.left_width = std::max(left_pane_width(panes, width), needs.least_left);
    layout.right_width = right_pane_width(panes, width);
    leave_room(layout, width, panes.left && !folds_left(width), panes.right && !folds_right(width));
    float x0 = margin, x1 = size.x - margin;
    if (panes.left && !panes.only_centre) {
        layout.left_rail = folds_left(width);
        layout.left = {{x0, top}, {x0 + px(layout.left_rail ? kRail : layout.left_width), bottom}};
        x0 = layout.left.max.x + gap;
    }
    if (panes.right && !panes.only_centre) {
        layout.right_tab = folds_right(width);
        layout.right = {{x1 - px(layout.right_tab ? kTab : layout.right_width), top}, {x1, bottom}};
        x1 = layout.right.min.x - gap;
    }
    layout.centre = {{x0, top}, {x1, bottom}};
    // All settings lie over the short ones and the edge of the picture, or beside the rail.
    const float from = layout.left_rail || !panes.left ? x0 : margin;
    if (panes.left_open && !panes.only_centre) layout.left_drawer = {{from, top}, {std::min(from + px(kDrawer), x1), bottom}};
    if (layout.right_tab && panes.right_open) layout.right_drawer = {{x1 - std::min(px(layout.right_width), x1 - x0), top}, {x1, bottom}};
    return layout;
}

}  // namespace attn::app
