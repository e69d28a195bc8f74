#pragma once
/// Loss gradients instead of values, common to all views of heatmaps.

#include <string>
#include <string_view>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Whether maps show gradients: they are switched on and have been computed.
bool shows_gradients(const PanelContext& context);
/// Why maps show values although gradients are switched on, one sentence; "" otherwise.
std::string missing_gradients(const PanelContext& context);
/// Turns the switch by its key, or says why it cannot be turned.
void toggle_gradients(PanelContext& context);
/// Why gradients cannot be switched on, one sentence; "" if they can.
std::string_view no_gradients(const PanelContext& context);
/// While they are on, draws a chip that says so and switches them off, right-aligned at `right`; returns its width.
float draw_gradient_chip(PanelContext& context, float right, float y);

}  // namespace attn::app
