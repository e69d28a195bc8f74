#pragma once
/// One pane of the frame: a child window at a fixed place.

#include "app/panels/panel_context.hpp"
#include "app/panels/views/equation_layout.hpp"

namespace attn::app {

enum class PaneLook : std::uint8_t {
    Bare,
    Card,
    Drawer,  ///< lies over another one
};

/// `padding` in logical pixels; `draw` fills it. Nothing happens for a box without area.
void pane(PanelContext& context, const char* id, const Box& box, PaneLook look, ImVec2 padding, void (*draw)(PanelContext&), int flags = 0);

}  // namespace attn::app
