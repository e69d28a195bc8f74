#pragma once
/// The switch between values and loss gradients, common to all views of heatmaps.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Whether maps show gradients: they are switched on and have been computed.
bool shows_gradients(const PanelContext& context);
/// Why maps show values although gradients are switched on, one sentence; "" otherwise.
std::string missing_gradients(const PanelContext& context);
/// Turns the switch by its key, or says why it cannot be turned.
void toggle_gradients(PanelContext& context);
/// Draws the switch "values | gradients", right-aligned at `right`; greyed out with a reason if there are none.
void draw_gradient_switch(PanelContext& context, float right, float y);
float gradient_switch_width(const PanelContext& context);
}  // namespace attn::app
