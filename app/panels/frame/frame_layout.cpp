#include "app/panels/frame/frame_layout.hpp"

#include <algorithm>
#include <cmath>

namespace attn::app {
namespace {

// In logical pixels:
constexpr float kRail = 44, kTab = 28, kStripMap = 68, kStripLine = 32;
constexpr float kLeastPicture = 440, kPictureOfFull = 470, kPictureOfMap = 320, kPictureOfLine = 230, kLowWindow = 680, kHighWindow = 1300,
                kHighStrip = 204;

/// Interpolates between two widths as the window grows from 1600 to 2560.
float grown(float from, float to, float window_width) { return from + (to - from) * std::clamp((window_width - 1600) / 960, 0.F, 1.F); }

float strip_height(StripLook look, const PaneState& panes, float window_height) {
    switch (look) {
    case StripLook::None:
        return 0;
    case StripLook::Line:
        return kStripLine;
    case StripLook::Map:
        return kStripMap;
    case StripLook::Full:
        return std::clamp(panes.strip_height == PaneState{}.strip_height && window_height >= kHighWindow ? kHighStrip : panes.strip_height,
                          kMinStrip, kMaxStrip);
    }
    return 0;
}

/// The largest strip that leaves the picture enough height. `body`: the height shared by picture and strip, in logical pixels.
StripLook strip_look(const PaneState& panes, float body, float window_height) {
    if (!panes.strip || panes.only_centre) return StripLook::None;
    const auto picture = [&](StripLook look) { return body - strip_height(look, panes, window_height) - kFrameGap; };
    if (panes.thumbnails && picture(StripLook::Full) >= kPictureOfFull) return StripLook::Full;
    if (window_height >= kLowWindow && picture(StripLook::Map) >= kPictureOfMap) return StripLook::Map;
    return picture(StripLook::Line) >= kPictureOfLine ? StripLook::Line : StripLook::None;
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
    return std::clamp(untouched ? grown(panes.left_width, 300, window_width) : panes.left_width, kMinLeft, kMaxSide);
}

float right_pane_width(const PaneState& panes, float window_width) {
    const bool untouched = panes.right_width == PaneState{}.right_width;
    const float width = std::clamp(untouched ? grown(panes.right_width, 440, window_width) : panes.right_width, kMinRight, kMaxSide);
    return window_width < 1280 ? std::min(width, 264.F) : window_width < 1400 ? std::min(width, 300.F) : width;
}

FrameLayout lay_out_frame(const FrameNeeds& needs, const ImVec2& size, float scale) {
    const auto px = [scale](float logical) { return std::floor(logical * scale); };
    const PaneState& panes = needs.panes;
    const float width = size.x / scale, margin = px(kFrameMargin), gap = px(kFrameGap);
    FrameLayout layout;
    const float text_top = panes.only_centre ? 0 : px(kTopBar);
    float top = text_top + (panes.only_centre ? margin : px(kTextRow));
    float bottom = size.y - margin;
    layout.top = {{0, 0}, {size.x, px(kTopBar)}};
    layout.text = {{0, text_top}, {size.x, top}};
    if (needs.next_row > 0) {
        layout.next = {{0, top}, {size.x, top + needs.next_row}};
        top += needs.next_row;
    }
    if (needs.lesson > 0) {
        layout.lesson = {{margin, top}, {size.x - margin, top + needs.lesson}};
        top = layout.lesson.max.y + gap;
    }
    layout.strip_look = strip_look(panes, (bottom - top) / scale, size.y / scale);
    if (layout.strip_look != StripLook::None) {
        layout.strip = {{margin, bottom - px(strip_height(layout.strip_look, panes, size.y / scale))}, {size.x - margin, bottom}};
        bottom = layout.strip.min.y - gap;
    }
    layout.left_width = left_pane_width(panes, width);
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
    const float room = x1 - x0;
    if (layout.left_rail && panes.left_open) layout.left_drawer = {{x0, top}, {x0 + std::min(px(layout.left_width), room), bottom}};
    if (layout.right_tab && panes.right_open) layout.right_drawer = {{x1 - std::min(px(layout.right_width), room), top}, {x1, bottom}};
    return layout;
}

}  // namespace attn::app
