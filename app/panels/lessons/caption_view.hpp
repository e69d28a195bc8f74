#pragma once
/// The caption of a lesson step, with numbers in the colours of their cells and linked to them.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// The font of captions: large enough to read from a distance, but normal size in a low window.
ImFont* caption_font(const PanelContext& context);
/// Line height in pixels.
float caption_line_height(const PanelContext& context);
/// Height in pixels at this width.
float caption_height(const PanelContext& context, float width);
/// Draws the caption at `at` and records the cells it refers to.
void draw_caption(PanelContext& context, ImVec2 at, float width);

}  // namespace attn::app
