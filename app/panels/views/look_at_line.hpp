#pragma once
/// The line with the eye that says what is worth looking at.

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// At the foot of the pane; returns the height it took, 0 where there is nothing to be said.
float draw_look_at(const PanelContext& context, ImVec2 bottom_left, float width);

}  // namespace attn::app
