#pragma once
/// The settings sections that define the model.

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// Layers, heads and widths.
void draw_model_settings(PanelContext& context);
/// Norms, positions, feed-forward network, biases, output head, and the seed of the parameters.
void draw_part_settings(PanelContext& context);

}  // namespace attn::app
