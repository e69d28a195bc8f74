#pragma once
/// Attention as lines between tokens.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

void draw_lines_view(PanelContext& context);

}  // namespace attn::app
