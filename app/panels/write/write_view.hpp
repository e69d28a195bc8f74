#pragma once
/// The Write view: the branches of what was written on, what may come next at each moment of them, and where the heads look there.

#include "app/panels/panel_context.hpp"

namespace attn::app {

void draw_write_view(PanelContext& context);
/// The right pane: where every head looks at the moment that is shown.
void draw_write_cell(PanelContext& context);

}  // namespace attn::app
