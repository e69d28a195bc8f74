#pragma once
/// The two pages of Heads: the heads of one layer, and those of all layers.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Draws the switch between the pages, right-aligned at `right`; returns its width, 0 for a model of one layer.
float draw_heads_pages(PanelContext& context, float right, float y);

}  // namespace attn::app
