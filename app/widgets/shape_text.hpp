#pragma once
/// Tensor shapes as text, with every axis in its colour.

#include <imgui.h>

#include <string>
#include <string_view>
#include <vector>

#include "app/widgets/ui.hpp"
#include "engine/tensor/shape.hpp"

namespace attn::app {

/// A run of text in one colour.
struct ColoredText {
    Color color = 0;
    std::string text;
};

/// "[B2 H4 T12 S12]", or "[B=2, H=4, T=12, S=12]" in the long form.
std::vector<ColoredText> shape_runs(const Theme& theme, const Shape& shape, bool long_form = false);
/// Draws the shape with its top left corner at `at`; returns its width in pixels.
float draw_shape(ImDrawList& list, const Theme& theme, ImFont* font, ImVec2 at, const Shape& shape, bool long_form = false);

/// Draws runs one after another; returns their total width.
float draw_runs(ImDrawList& list, ImFont* font, ImVec2 at, const std::vector<ColoredText>& runs);
float runs_width(const ImFont* font, const std::vector<ColoredText>& runs);

}  // namespace attn::app
