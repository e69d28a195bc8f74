#pragma once
/// Placeholders for side panes that are collapsed in a narrow window; a click opens the pane over the picture.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// The initials of the settings sections.
void draw_settings_rail(PanelContext& context);
/// The rotated name of the right pane.
void draw_cell_tab(PanelContext& context);

}  // namespace attn::app
