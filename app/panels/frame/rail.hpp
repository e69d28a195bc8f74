#pragma once
/// Placeholders for side panes that are collapsed in a narrow window; a click opens the pane over the picture.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// The initials of the settings sections.
void draw_settings_rail(PanelContext& context);
/// The rotated name of the right pane.
void draw_cell_tab(PanelContext& context);

/// Shows or hides a pane; if it is collapsed, opens or closes it over the picture.
void toggle_left_pane(PanelContext& context);
void toggle_right_pane(PanelContext& context);

}  // namespace attn::app
