#pragma once
/// What stands below the picture: the map of the model, and the layers, heads and stages that can be chosen.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Layers, heads and the stations of the chosen layer, each with a thumbnail.
void draw_strip_with_pictures(PanelContext& context);
/// The same with names only.
void draw_strip_with_names(PanelContext& context);
/// One line with menus of layers and heads, and buttons to the neighbouring stations.
void draw_strip_line(PanelContext& context);
/// The blocks of the model along a line.
void draw_model_map(PanelContext& context);

}  // namespace attn::app
