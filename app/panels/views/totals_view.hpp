#pragma once
/// Attention accumulated over layers.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

void draw_totals_view(PanelContext& context);
/// The right pane of the totals and lens views: how the selected number arises.
void draw_totals_cell(PanelContext& context);

}  // namespace attn::app
