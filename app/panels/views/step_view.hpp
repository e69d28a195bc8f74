#pragma once
/// One stage as an equation.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

void draw_step_view(PanelContext& context);

}  // namespace attn::app
