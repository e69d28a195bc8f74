#pragma once
/// The text of the shown branch as chips, from the prompt to its end; every generated token is a moment.

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// The total height in pixels when wrapped at `width`.
float written_chips_height(const PanelContext& context, float width);
void draw_written_chips(PanelContext& context);

}  // namespace attn::app
