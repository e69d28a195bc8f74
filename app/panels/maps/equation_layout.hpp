#pragma once
/// Lays out the parts of an equation. Pure geometry in pixels.

#include <imgui.h>

#include <vector>

#include "app/panels/maps/equation.hpp"

#include "app/widgets/box.hpp"

namespace attn::app {

struct EquationLayout {
    Box text;                   ///< formula and sentence
    std::vector<Box> operands;  ///< one per operand, in order
    Box result;
    Box row_sums;             ///< empty unless row sums are shown
    Box bar;                  ///< colour bar and statistics
    bool bar_lies = false;    ///< the bar is a line of text
    bool beside = false;      ///< the text, the small operand and the bar form a column at the left of the result
    float row_labels = 0;     ///< space for row labels left of the first matrix
    float column_labels = 0;  ///< space for column labels above the result (and above a row of matrices)
};

/// Lays out the equation in `area`. `scale`: pixels per logical pixel; `text_height`: height of formula and sentence at the area's width,
/// for layouts with the text above the matrices. Matrices that share rows get the same height, those that share columns the same width.
EquationLayout lay_out_equation(const Equation& equation, const Box& area, float scale, float text_height, bool long_labels);

}  // namespace attn::app
