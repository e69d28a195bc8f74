#pragma once
/// Thumbnails of stages.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Thumbnails of the open block's stages.
void draw_thumbnails(PanelContext& context);

}  // namespace attn::app
