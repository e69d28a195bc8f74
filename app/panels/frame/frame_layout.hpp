#pragma once
/// Computes the layout of the panes and which of them are collapsed for a window size. Pure geometry, in pixels.

#include <cstdint>

#include "app/panels/state/view_state.hpp"
#include "app/widgets/box.hpp"

namespace attn::app {

/// What is shown of the stages below the picture.
enum class StripLook : std::uint8_t {
    None,
    Line,      ///< layer, head and stage as menus, with buttons to the neighbouring stages
    Names,     ///< layers, heads and the names of the stages
    Pictures,  ///< the same with a thumbnail of every stage
};

struct FrameNeeds {
    PaneState panes;
    float lesson = 0;         ///< height in pixels; 0: not shown
    float least_left = 0;     ///< of the left pane, in logical pixels
    bool both_texts = false;  ///< source and target have a row each
};

struct FrameLayout {
    Box top, row, lesson, left, centre, right, strip;
    StripLook strip_look = StripLook::None;
    bool map = false;                       ///< the strip begins with the map of the model
    bool left_rail = false;                 ///< the left pane is collapsed to a rail with two switches
    bool right_tab = false;                 ///< the right pane is collapsed to a tab at the edge
    Box left_drawer, right_drawer;          ///< all settings, and the collapsed right pane, while they are open over the picture
    float left_width = 0, right_width = 0;  ///< of the uncollapsed panes, in logical pixels
};

inline constexpr float kTopBar = 48, kTextRow = 40, kSecondRow = 44, kFrameGap = 12, kFrameMargin = 16;
inline constexpr float kMapBand = 64;  ///< what the map of the model adds to the strip
inline constexpr float kMinLeft = 200, kMinRight = 240, kMaxSide = 480;

/// `size` in pixels. As long as other parts can be collapsed, the picture gets at least 440 x 360 logical pixels.
FrameLayout lay_out_frame(const FrameNeeds& needs, const ImVec2& size, float scale);
/// The widths of the side panes in logical pixels: as set by the user, limited by the window. If never dragged, they grow with large
/// windows.
float left_pane_width(const PaneState& panes, float window_width);
float right_pane_width(const PaneState& panes, float window_width);

}  // namespace attn::app
