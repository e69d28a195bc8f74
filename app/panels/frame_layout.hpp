#pragma once
/// Where the frame's panes lie, and which of them fold in a window of this size: plain geometry, in pixels.

#include <cstdint>

#include "app/panels/view_state.hpp"
#include "app/panels/views/equation_layout.hpp"

namespace attn::app {

/// What is left of the stages below the picture.
enum class StripLook : std::uint8_t {
    None,
    Line,  ///< the name of the open block, with buttons to the next ones
    Map,   ///< the map of the model
    Full,  ///< and the stages of the open block, as thumbnails
};

struct FrameNeeds {
    PaneState panes;
    float next_row = 0, lesson = 0;  ///< heights in pixels; 0: not there
};

struct FrameLayout {
    Box top, text, next, lesson, left, centre, right, strip;
    StripLook strip_look = StripLook::None;
    bool left_rail = false;                 ///< the left pane is a rail of initials
    bool right_tab = false;                 ///< the right pane is a tab at the edge
    Box left_drawer, right_drawer;          ///< the folded panes where they are open over the picture
    float left_width = 0, right_width = 0;  ///< of the panes when they are not folded, logical pixels
};

inline constexpr float kTopBar = 48, kTextRow = 64, kFrameGap = 12, kFrameMargin = 14;
inline constexpr float kMinLeft = 200, kMinRight = 240, kMaxSide = 480, kMinStrip = 150, kMaxStrip = 260;

/// `size` in pixels. The picture keeps 440 x 400 logical pixels for as long as anything else can fold.
FrameLayout lay_out_frame(const FrameNeeds& needs, const ImVec2& size, float scale);
/// How many logical pixels wide the panes at the sides are: as the person made them, within what the window has to spare. Where they were
/// never dragged they grow with a large window.
float left_pane_width(const PaneState& panes, float window_width);
float right_pane_width(const PaneState& panes, float window_width);
/// Whether the pane folds in a window of this logical width.
inline bool folds_left(float window_width) { return window_width < 1180; }
inline bool folds_right(float window_width) { return window_width < 1100; }

}  // namespace attn::app
