#pragma once
/// The same model at two precisions: every parameter with its error, the errors of one as a picture, and the numbers behind it.

#include "app/panels/panel_context.hpp"

namespace attn::app {

void draw_precision_view(PanelContext& context);
/// The right pane: the chosen number in both, and how each file packs it.
void draw_precision_cell(PanelContext& context);

}  // namespace attn::app
