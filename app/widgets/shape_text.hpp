#pragma once
/// Shapes and formulas as text in which every axis has its colour.

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

/// "[B2 H4 T12 S12]", or "[B=2, H=4, T=12, S=12]" in the long form: letters and sizes in the axis' colour.
std::vector<ColoredText> shape_runs(const Theme& theme, const Shape& shape, bool long_form = false);
/// Draws it with its top left corner at `at`; returns its width in pixels.
float draw_shape(ImDrawList& list, const Theme& theme, ImFont* font, ImVec2 at, const Shape& shape, bool long_form = false);
/// The widest form that fits: long, short, or short and cut.
float draw_shape_in(ImDrawList& list, const Theme& theme, ImFont* font, ImVec2 at, float width, const Shape& shape);

/// Formula markup: {T:q} in the colour of axis T (any axis letter), {x:…} chosen, {a:…} accent, {m:…} muted, {f:…} faint, {g:…} good,
/// {r:…} bad; everything else in the text's colour. "{{" is a brace. Markup that is not understood is shown as it is written.
std::vector<ColoredText> formula_runs(const Theme& theme, std::string_view markup);
float draw_formula(ImDrawList& list, const Theme& theme, ImFont* font, ImVec2 at, std::string_view markup);
float formula_width(const Theme& theme, const ImFont* font, std::string_view markup);
/// The formula without its markup, for exports and widths.
std::string plain_formula(std::string_view markup);

/// Draws runs one after another; returns their width.
float draw_runs(ImDrawList& list, ImFont* font, ImVec2 at, const std::vector<ColoredText>& runs);
float runs_width(const ImFont* font, const std::vector<ColoredText>& runs);

}  // namespace attn::app
