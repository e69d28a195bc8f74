#pragma once
/// The switch between one head and all heads of its layer.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Whether the switch applies: there are several heads with maps that can be shown side by side.
bool has_heads_switch(const PanelContext& context);
float heads_switch_width(const PanelContext& context);
/// Draws "all heads | one head", right-aligned at `right`; nothing if it does not apply.
void draw_heads_switch(PanelContext& context, float right, float y);

}  // namespace attn::app
