#pragma once
/// Converts ImGui's draw data to SVG: text as text, cells as rectangles.

#include <string>
#include <string_view>

#include "app/widgets/theme.hpp"

struct ImDrawData;

namespace attn::app {

/// Makes ImGui draw plain shapes in the next frame: no antialiasing fringes, and fine curves. The destructor restores the previous
/// settings.
class PlainShapes {
public:
    PlainShapes();
    ~PlainShapes();
    PlainShapes(const PlainShapes&) = delete;
    PlainShapes& operator=(const PlainShapes&) = delete;

private:
    bool lines_, textured_lines_, fill_;
    float curve_error_;
};

/// Converts a frame drawn with PlainShapes and an SvgCanvas. Letters clipped by a text field are left out. `trim`: without the empty
/// margins around what is drawn on the pane's colour.
std::string svg_of(const ImDrawData& data, const Theme& theme, std::string_view title, bool trim = false);

}  // namespace attn::app
