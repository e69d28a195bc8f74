#pragma once
/// What stands for side panes that are collapsed in a narrow window.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// The two mask switches, and the button of all settings.
void draw_settings_rail(PanelContext& context);
/// The rotated name of the right pane.
void draw_cell_tab(PanelContext& context);

}  // namespace attn::app
