#pragma once
/// The switch between numbers and what they do to the loss, the same for every view of heatmaps.

#include <string>

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// Whether maps show gradients now: they are asked for and have been computed.
bool shows_gradients(const PanelContext& context);
/// "values | gradients", ending at `right`; greyed with its reason where there are none.
void draw_gradient_switch(PanelContext& context, float right, float y);
float gradient_switch_width(const PanelContext& context);
/// A recorded stage's slice for a head: its values, or their gradients.
Matrix shown_slice(PanelContext& context, const StageId& id, std::int64_t head);
/// Heading of maps of this stage: "weights", or "∂ loss ÷ ∂ weights".
std::string shown_title(const PanelContext& context, Stage stage);

}  // namespace attn::app
