#pragma once
/// What stands in the place of the panes at the sides where a narrow window folds them; a click opens the pane over the picture.

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// The initials of the settings' sections.
void draw_settings_rail(PanelContext& context);
/// The name of the right pane, turned.
void draw_cell_tab(PanelContext& context);

/// Hides or shows the pane; where it is folded, opens or closes it over the picture.
void toggle_left_pane(PanelContext& context);
void toggle_right_pane(PanelContext& context);

}  // namespace attn::app
