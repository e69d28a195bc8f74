#pragma once
/// The one fixed frame: text on top, settings left, the picture in the centre, the chosen cell right, the stages below.

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// Draws the whole interface into the current ImGui frame and handles its keys.
void draw_frame(PanelContext& context);

/// For how many seconds nothing moves by itself: 0 while something does, infinite where nothing will.
double seconds_at_rest(const ViewState& view, double now);

}  // namespace attn::app
