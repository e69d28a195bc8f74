#pragma once
/// The frame with its fixed layout: text on top, settings on the left, the view in the centre, the cell on the right, stages below.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Draws the whole interface into the current ImGui frame and handles keys.
void draw_frame(PanelContext& context);

/// Seconds until something changes without input: 0 during animations, infinite if nothing will.
double seconds_at_rest(const ViewState& view, double now);

}  // namespace attn::app
