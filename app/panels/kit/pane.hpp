#pragma once
/// A pane of the frame: a child window at a fixed position; and which of the side panes are open.

#include "app/panels/kit/panel_context.hpp"
#include "app/widgets/box.hpp"

namespace attn::app {

enum class PaneLook : std::uint8_t {
    Bare,
    Card,
    Drawer,  ///< overlaps another pane
};

/// Draws a pane with `draw` as its contents. `padding` in logical pixels. Does nothing if `box` is empty.
void pane(PanelContext& context, const char* id, const Box& box, PaneLook look, ImVec2 padding, void (*draw)(PanelContext&), int flags = 0);

/// Whether the pane is collapsed in a window of this logical width.
inline bool folds_left(float window_width) { return window_width < 1180; }
inline bool folds_right(float window_width) { return window_width < 1100; }

/// Whether the window is so low that headings close up and the strip has names only.
inline bool is_low_window(const PanelContext& context) { return ImGui::GetIO().DisplaySize.y < context.px(800); }

/// Whether the map of the model is open above the stages in a window of this logical height.
inline bool opens_map(const PaneState& panes, float window_height) { return panes.map.value_or(window_height >= 1100); }
void toggle_map(PanelContext& context);

/// Shows or hides a side pane; if it is collapsed, opens or closes it over the picture.
void toggle_left_pane(PanelContext& context);
void toggle_right_pane(PanelContext& context);

}  // namespace attn::app
