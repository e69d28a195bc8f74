#pragma once
/// Where the parts of an equation go on the blackboard: plain geometry, in pixels, relative to nothing.

#include <imgui.h>

#include <vector>

#include "app/panels/views/equation.hpp"

namespace attn::app {

struct Box {
    ImVec2 min{0, 0}, max{0, 0};
    float width() const { return max.x - min.x; }
    float height() const { return max.y - min.y; }
};

struct EquationLayout {
    Box text;                   ///< formula and sentence
    std::vector<Box> operands;  ///< one for each of the equation's operands, in its order
    Box result;
    Box row_sums;             ///< empty unless the equation shows them
    Box bar;                  ///< colour bar and statistics
    float row_labels = 0;     ///< room for labels at the left of the first matrix
    float column_labels = 0;  ///< room for labels above the result (and above a row of matrices)
};

/// Lays the equation out in `area`. `scale` turns logical pixels into pixels; `text_height` is what formula and sentence need at
/// the width of the area, used where they stand above the matrices. Rows of matrices that share rows have the same height, columns
/// that share columns the same width.
EquationLayout lay_out_equation(const Equation& equation, const Box& area, float scale, float text_height, bool long_labels);

}  // namespace attn::app
