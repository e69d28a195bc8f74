#pragma once
/// The switch between numbers and what they do to the loss, the same for every view of heatmaps.

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// Whether maps show gradients now: they are asked for and have been computed.
bool shows_gradients(const PanelContext& context);
/// Null where maps do not show them.
std::shared_ptr<const GradientTrace<float>> shown_gradients(const PanelContext& context);
/// Why maps show values though gradients are asked for, a sentence; "" where they do not.
std::string missing_gradients(const PanelContext& context);
/// "values | gradients", ending at `right`; greyed with its reason where there are none.
void draw_gradient_switch(PanelContext& context, float right, float y);
float gradient_switch_width(const PanelContext& context);
}  // namespace attn::app
