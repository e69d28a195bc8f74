#pragma once
/// Draws a matrix of an equation: a heatmap with titles, labels, colours and highlights according to its role.

#include <optional>

#include "app/panels/kit/panel_context.hpp"
#include "app/widgets/box.hpp"
#include "app/widgets/heatmap_view.hpp"

namespace attn::app {

enum class MatrixRole : std::uint8_t {
    Left,   ///< left operand of a product: shares rows with the result
    Top,    ///< right operand of a product, above the result: shares columns with it
    Strip,  ///< a single row above the result: a bias, γ or β
    Input,  ///< beside the result
    Result,
};

struct MatrixViewOptions {
    MatrixRole role = MatrixRole::Result;
    bool row_labels = false, col_labels = false;
    float column_room = 0;  ///< space for column labels in pixels; 0: enough for horizontal ones
    StageId stage;          ///< the stage to whose equation it belongs
    bool axis_titles = true;
    float reach = 0;                 ///< for one of several differences: their common range ±reach; 0: its own range
    bool comparing = false;          ///< part of a comparison, in which both states share one range
    const Matrix* before = nullptr;  ///< the map of the same shape that it is animated from; null: none
    bool summed_over = false;        ///< an operand summed along the letter of the result's columns: ignores selections there
};

struct MatrixViewResult {
    std::optional<HeatmapCell> hovered, clicked;
    bool title_clicked = false;
    bool held = false;  ///< the mouse was pressed on the matrix and is still down
};

MatrixViewResult draw_matrix(PanelContext& context, const Matrix& matrix, const Box& box, const MatrixViewOptions& options);

/// Draws the colour bar, range menu and statistics of the result; `comparing` and `reach` as in MatrixViewOptions.
void draw_color_scale(PanelContext& context, const Matrix& result, const Box& box, bool comparing, float reach = 0);
/// Draws a small colour bar and the range menu in a line of text that begins at `at`.
void draw_color_line(PanelContext& context, const Matrix& result, ImVec2 at, float reach);

/// Why the numbers of a map cannot be edited, "" if they can.
std::string why_not_editable(const PanelContext& context, const Matrix& matrix);

}  // namespace attn::app
