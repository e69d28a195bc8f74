#pragma once
/// Computes the layout of the panes and which of them are collapsed for a window size. Pure geometry, in pixels.

#include <cstdint>

#include "app/panels/state/view_state.hpp"
#include "app/widgets/box.hpp"

namespace attn::app {

/// What is shown of the stages below the picture.
enum class StripLook : std::uint8_t {
    None,
    Line,  ///< the name of the open block, with buttons to its neighbours
    Map,   ///< the model map
    Full,  ///< the model map and thumbnails of the open block's stages
};

struct FrameNeeds {
    PaneState panes;
    float next_row = 0, lesson = 0;  ///< heights in pixels; 0: not shown
};

struct FrameLayout {
    Box top, text, next, lesson, left, centre, right, strip;
    StripLook strip_look = StripLook::None;
    bool left_rail = false;                 ///< the left pane is collapsed to a rail of initials
    bool right_tab = false;                 ///< the right pane is collapsed to a tab at the edge
    Box left_drawer, right_drawer;          ///< collapsed panes while they are open over the picture
    float left_width = 0, right_width = 0;  ///< of the uncollapsed panes, in logical pixels
};

inline constexpr float kTopBar = 48, kTextRow = 64, kFrameGap = 12, kFrameMargin = 14;
inline constexpr float kMinLeft = 200, kMinRight = 240, kMaxSide = 480, kMinStrip = 150, kMaxStrip = 260;

/// `size` in pixels. As long as other parts can be collapsed, the picture gets at least 440 x 400 logical pixels.
FrameLayout lay_out_frame(const FrameNeeds& needs, const ImVec2& size, float scale);
/// The widths of the side panes in logical pixels: as set by the user, limited by the window. If never dragged, they grow with large
/// windows.
float left_pane_width(const PaneState& panes, float window_width);
float right_pane_width(const PaneState& panes, float window_width);

}  // namespace attn::app
