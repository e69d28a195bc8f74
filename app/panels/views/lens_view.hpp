#pragma once
/// What each layer would say if it were the last one.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

void draw_lens_view(PanelContext& context);
void draw_lens_cell(PanelContext& context);

}  // namespace attn::app
