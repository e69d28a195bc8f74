#pragma once
/// The Precision view: a model at two precisions, with the errors of all parameters, an error map of one, and its numbers.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

void draw_precision_view(PanelContext& context);
/// The right pane: the selected number in both files, and how each file packs it.
void draw_precision_cell(PanelContext& context);

}  // namespace attn::app
