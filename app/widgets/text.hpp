#pragma once
/// Text on draw lists: measured, cut, aligned, spaced, turned.

#include <imgui.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "app/widgets/theme.hpp"

namespace attn::app {

/// Width of one line in pixels.
float text_width(const ImFont* font, std::string_view text);
/// Draws one line with its top left corner at `at`.
void draw_text(ImDrawList& list, ImFont* font, ImVec2 at, Color color, std::string_view text);
/// Draws one line in a box: `align` 0 = left or top, 0.5 = centre, 1 = right or bottom.
void draw_text_in(ImDrawList& list, ImFont* font, ImVec2 min, ImVec2 max, ImVec2 align, Color color, std::string_view text);
/// Draws one line whose letters stand on `baseline`, so that different fonts line up.
void draw_text_on(ImDrawList& list, ImFont* font, float x, float baseline, Color color, std::string_view text);
/// Upper-case heading with letters set apart by `spacing` pixels; returns its width.
float draw_spaced_text(ImDrawList& list, ImFont* font, ImVec2 at, Color color, std::string_view text, float spacing);
/// Draws one line turned by 90° counter-clockwise (read from below), centred on `center`.
void draw_text_turned(ImDrawList& list, ImFont* font, ImVec2 center, Color color, std::string_view text);
/// Text that rises to the right at 45 degrees; the middle of its first letter's left edge stands at `foot`.
void draw_text_slanted(ImDrawList& list, ImFont* font, ImVec2 foot, Color color, std::string_view text);
/// Draws wrapped text; returns the height it took.
float draw_text_wrapped(ImDrawList& list, ImFont* font, ImVec2 at, float width, Color color, std::string_view text);
/// Height of text wrapped at `width`.
float wrapped_height(const ImFont* font, float width, std::string_view text);
/// The text cut into lines at its spaces alone: ImGui would also cut a number at its point and an index at its comma.
std::vector<std::string> lines_of(const ImFont* font, std::string_view text, float width);

/// The text, or as much of it as fits before an ellipsis; "" when not even one letter does.
std::string elide(const ImFont* font, std::string_view text, float width);
/// Length in bytes of the well-formed UTF-8 character at the start of `text`, 0 when there is none.
std::size_t character_length(std::string_view text);
/// A token as it can be shown: spaces, line ends and tabs by their signs (␣ ↵ ⇥), other control characters and bytes that are not UTF-8
/// as "\x07", characters for which the fonts have no glyph by their code points, as "U+6211" or "U+5E9+5DC". A single space inside words
/// stays as it is when `keep_inner_spaces`.
std::string visible_text(std::string_view text, bool keep_inner_spaces = false);

/// The colour with its opacity multiplied by `opacity` (0 to 1).
Color with_alpha(Color color, float opacity);
/// Between two colours; t = 0 gives `from`.
Color mix(Color from, Color to, float t);
/// How well ink is seen on a background, 1 to 21, as the Web Content Accessibility Guidelines define it.
float contrast(Color ink, Color background);
/// What text has at least.
inline constexpr float kReadable = 4.5F;
/// Dark or light ink for text on this colour, whichever contrasts more.
Color ink_on(Color background);

}  // namespace attn::app
