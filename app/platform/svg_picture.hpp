#pragma once
/// What ImGui was asked to draw, as an SVG file: text as text, cells as rectangles.

#include <string>
#include <string_view>

#include "app/widgets/theme.hpp"

struct ImDrawData;

namespace attn::app {

/// Makes ImGui draw plain shapes in the next frame, without the fringes that soften their edges on screen, and fine curves.
/// Restores what was set before when it goes.
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

/// A frame that was drawn with PlainShapes and an SvgCanvas, as the text of a file. Letters that a text field has cut are left out.
std::string svg_of(const ImDrawData& data, const Theme& theme, std::string_view title);

}  // namespace attn::app
