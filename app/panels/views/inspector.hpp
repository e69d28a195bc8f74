#pragma once
/// The arithmetic of the chosen cell, in the right pane.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

void draw_inspector(PanelContext& context);

}  // namespace attn::app
