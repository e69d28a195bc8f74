#pragma once
/// The bar at the top: name, views, menus.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

void draw_top_bar(PanelContext& context);

}  // namespace attn::app
