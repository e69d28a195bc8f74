#pragma once
/// All heads of all layers.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

void draw_grid_view(PanelContext& context);

}  // namespace attn::app
