#pragma once
/// Shortens texts as visible_text() shows them without cutting what it writes for one character, such as "\x07" or "U+1F98A".

#include <imgui.h>

#include <string>
#include <string_view>
#include <vector>

namespace attn::app {

/// What visible_text() writes, one element for each character or invalid byte of `text`.
std::vector<std::string> shown_characters(std::string_view text, bool keep_inner_spaces = false);
/// As elide() of the visible text.
std::string elide_shown(const ImFont* font, std::string_view text, float width, bool keep_inner_spaces = false);
/// `before` and the visible text, of which the middle is left out if needed, so that both ends are seen; "" if not even one letter of it
/// fits.
std::string elide_shown_middle(const ImFont* font, std::string_view before, std::string_view text, float width,
                               bool keep_inner_spaces = false);

}  // namespace attn::app
