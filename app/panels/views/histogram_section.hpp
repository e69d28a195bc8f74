#pragma once
/// Statistics of the shown numbers, in the right pane.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

void draw_histogram_section(PanelContext& context);

}  // namespace attn::app
