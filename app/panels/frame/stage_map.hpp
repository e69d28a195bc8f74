#pragma once
/// The map of the model, below the picture.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// The model map with thumbnails of the open block's stages below.
void draw_stages(PanelContext& context);
/// The model map alone.
void draw_stage_map(PanelContext& context);
/// One line with the open block's name and buttons to its neighbours.
void draw_stage_line(PanelContext& context);

}  // namespace attn::app
