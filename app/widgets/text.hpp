#pragma once
/// Measures, shortens and draws text on draw lists.

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
/// Draws one line aligned in a box: 0 = left or top, 0.5 = centre, 1 = right or bottom.
void draw_text_in(ImDrawList& list, ImFont* font, ImVec2 min, ImVec2 max, ImVec2 align, Color color, std::string_view text);
/// Draws one line on `baseline`, so that different fonts line up.
void draw_text_on(ImDrawList& list, ImFont* font, float x, float baseline, Color color, std::string_view text);
/// Draws an upper-case heading with `spacing` extra pixels between letters; returns its width.
float draw_spaced_text(ImDrawList& list, ImFont* font, ImVec2 at, Color color, std::string_view text, float spacing);
/// Draws one line rotated by 90° counter-clockwise, centred on `center`.
void draw_text_turned(ImDrawList& list, ImFont* font, ImVec2 center, Color color, std::string_view text);
/// Draws one line rising to the right at 45°; `foot` is the middle of its left edge.
void draw_text_slanted(ImDrawList& list, ImFont* font, ImVec2 foot, Color color, std::string_view text);
/// Draws wrapped text; returns its height.
float draw_text_wrapped(ImDrawList& list, ImFont* font, ImVec2 at, float width, Color color, std::string_view text);
/// The height of text wrapped at `width`.
float wrapped_height(const ImFont* font, float width, std::string_view text);
/// Wraps text at spaces only; ImGui would also break numbers at the point and indices at the comma.
std::vector<std::string> lines_of(const ImFont* font, std::string_view text, float width);

/// The text, shortened with an ellipsis if needed; "" if not even one letter fits.
std::string elide(const ImFont* font, std::string_view text, float width);
/// Of parts separated by " · ", the first ones that fit; a first part that is too long is shortened,
/// or left out where a few letters would remain.
std::string elide_parts(const ImFont* font, std::string_view parts, float width);
/// The length in bytes of the UTF-8 character at the start of `text`; 0 if it is invalid.
std::size_t character_length(std::string_view text);
/// Makes a token visible: spaces, line ends and tabs as ␣ ↵ ⇥, other control characters and invalid bytes as "\x07", characters without a
/// glyph by their code points, such as "U+6211" or "U+5E9+5DC", which are noted in LackingLetters. `keep_inner_spaces`: single spaces
/// between words are kept.
std::string visible_text(std::string_view text, bool keep_inner_spaces = false);

/// Multiplies the colour's alpha by `opacity` (0 to 1).
Color with_alpha(Color color, float opacity);
/// Interpolates between two colours; t = 0 gives `from`.
Color mix(Color from, Color to, float t);
/// The contrast ratio, 1 to 21, as defined by the Web Content Accessibility Guidelines.
float contrast(Color ink, Color background);
/// The minimum contrast of text.
inline constexpr float kReadable = 4.5F;
/// Dark or light, whichever has more contrast on this background.
Color ink_on(Color background);

}  // namespace attn::app
