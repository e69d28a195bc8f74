#pragma once
/// The one fixed frame: text on top, settings left, the picture in the centre, the chosen cell right, the stages below.

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// Draws the whole interface into the current ImGui frame and handles its keys.
void draw_frame(PanelContext& context);

}  // namespace attn::app
