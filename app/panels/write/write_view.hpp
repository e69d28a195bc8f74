#pragma once
/// The Write view: the branches of generated text, the candidates at each moment, and where the heads attend.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

void draw_write_view(PanelContext& context);
/// The right pane: where every head attends at the shown moment.
void draw_write_cell(PanelContext& context);

}  // namespace attn::app
