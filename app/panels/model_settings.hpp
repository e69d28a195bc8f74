#pragma once
/// The sections of the settings pane that say what the model consists of.

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// Layers, heads and widths.
void draw_model_settings(PanelContext& context);
/// Norms, positions, feed-forward, biases and head, and the seed of the parameters.
void draw_part_settings(PanelContext& context);

}  // namespace attn::app
