#pragma once
/// The switch between a picture of one head and that of all heads of its layer.

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// Whether it says anything here: there are several heads, and their maps can stand side by side.
bool has_heads_switch(const PanelContext& context);
float heads_switch_width(const PanelContext& context);
/// "all heads | one head", ending at `right`; nothing where it says nothing.
void draw_heads_switch(PanelContext& context, float right, float y);

}  // namespace attn::app
