#pragma once
/// The settings section that lists the edits.

#include "app/panels/panel_context.hpp"

namespace attn::app {

void draw_edit_list(PanelContext& context);

}  // namespace attn::app
