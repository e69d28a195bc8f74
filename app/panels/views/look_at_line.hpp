#pragma once
/// The line, marked with an eye, that says what is worth looking at.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Draws the line at the bottom of the pane; returns its height, 0 if there is nothing to say.
float draw_look_at(const PanelContext& context, ImVec2 bottom_left, float width);

}  // namespace attn::app
