#pragma once
/// Small boxes with text, of which the picture of tokenization steps is made.

#include <imgui.h>

#include <string_view>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// The least width of a column, in logical pixels.
inline constexpr float kLeastUnit = 13;
/// How far the edges of scrolled pictures fade: less than a row, since all rows but those at the edge are whole.
inline constexpr float kFade = 12;

/// Draws text in a box, in a smaller font if it is long.
void draw_cell_text(const PanelContext& context, ImVec2 min, ImVec2 max, std::string_view shown, Color ink, bool small);
/// The space that a text in a small box needs.
float needed(const PanelContext& context, const ImFont* font, std::string_view text);
/// Whether the item of interest in this child window (given as any number) has changed since the last frame and must be scrolled to.
bool looks_elsewhere(int now);

}  // namespace attn::app
