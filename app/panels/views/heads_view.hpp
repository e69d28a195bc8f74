#pragma once
/// All heads of a layer.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

void draw_heads_view(PanelContext& context);

}  // namespace attn::app
