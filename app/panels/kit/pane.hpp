#pragma once
/// A pane of the frame: a child window at a fixed position.

#include "app/panels/kit/panel_context.hpp"
#include "app/panels/maps/equation_layout.hpp"

namespace attn::app {

enum class PaneLook : std::uint8_t {
    Bare,
    Card,
    Drawer,  ///< overlaps another pane
};

/// Draws a pane with `draw` as its contents. `padding` in logical pixels. Does nothing if `box` is empty.
void pane(PanelContext& context, const char* id, const Box& box, PaneLook look, ImVec2 padding, void (*draw)(PanelContext&), int flags = 0);

}  // namespace attn::app
