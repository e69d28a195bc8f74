#pragma once
/// Attention accumulated over layers.

#include "app/panels/kit/panel_context.hpp"
#include "app/panels/views/shown_numbers.hpp"

namespace attn::app {

void draw_totals_view(PanelContext& context);
/// The right pane of the totals and lens views: how the selected number arises.
void draw_totals_cell(PanelContext& context);
/// The map shown of attention over all layers up to the shown one, as rollout or mean; in a comparison A, B or their difference, as its
/// title says. Empty until it is computed.
ShownNumbers totals_numbers(PanelContext& context);

}  // namespace attn::app
