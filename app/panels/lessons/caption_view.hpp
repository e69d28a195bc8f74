#pragma once
/// The sentences of a lesson's step: numbers stand in the colours of their cells, and lead to them.

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// What sentences are written in: large enough for a class to read from the wall, in a low window no larger than other text.
ImFont* caption_font(const PanelContext& context);
/// Height in pixels of a line of sentences.
float caption_line_height(const PanelContext& context);
/// Height in pixels at this width.
float caption_height(const PanelContext& context, float width);
/// Draws them with the corner at `at`, and notes which cells they speak of.
void draw_caption(PanelContext& context, ImVec2 at, float width);

}  // namespace attn::app
