#pragma once
/// Breaks text into lines at spaces, and in paths after a slash. ImGui would also break numbers at the point and at the comma.

#include <imgui.h>

#include <string_view>
#include <vector>

namespace attn::app {

/// Lines of at most `width` pixels, without the spaces at which they were broken. Only a word that is wider than a line is broken inside,
/// after a point or another sign if there is one. A line end in the text begins a new line; one at its end does not.
std::vector<std::string_view> wrapped_lines(const ImFont* font, std::string_view text, float width);

}  // namespace attn::app
