#pragma once
/// The settings sections that define the model.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Layers, heads and widths.
void draw_model_settings(PanelContext& context);
/// Norms, positions, feed-forward network, biases, output head, and the seed of the parameters.
void draw_part_settings(PanelContext& context);
/// Keeps the number of key/value heads as close as possible to the previous one after a change of heads.
void keep_groups(Config& config);
/// The same for the model of the next training run, whose head and seed belong to its task; and its key/value heads.
void draw_run_parts(PanelContext& context);

}  // namespace attn::app
