#pragma once
/// One matrix of an equation on screen: the heatmap widget with the titles, labels, colours and lights that its role asks for.

#include <optional>

#include "app/panels/panel_context.hpp"
#include "app/panels/views/equation_layout.hpp"
#include "app/widgets/heatmap_view.hpp"

namespace attn::app {

enum class MatrixRole : std::uint8_t {
    Left,   ///< left operand of a product: shares rows with the result
    Top,    ///< right operand of a product, above the result: shares columns with it
    Strip,  ///< one row above the result: a bias, γ or β
    Input,  ///< beside the result
    Result,
};

struct MatrixViewOptions {
    MatrixRole role = MatrixRole::Result;
    bool row_labels = false, col_labels = false;
    float column_room = 0;  ///< pixels for the labels of columns; 0: for upright ones
    StageId stage;          ///< the stage whose equation it is part of
    bool axis_titles = true;
    float reach = 0;                 ///< of a difference that is one of several: ends of the range that they share; 0: its own
    bool comparing = false;          ///< part of a comparison: both states share one range
    const Matrix* before = nullptr;  ///< the map of the same shape whose colours pass over into this one's; null: none
    bool summed_over = false;  ///< an operand whose inner axis has the letter of the result's columns: what is chosen there is not meant
};

struct MatrixViewResult {
    std::optional<HeatmapCell> hovered, clicked;
    bool title_clicked = false;
    bool held = false;  ///< the mouse button went down on the matrix and is still down
};

MatrixViewResult draw_matrix(PanelContext& context, const Matrix& matrix, const Box& box, const MatrixViewOptions& options);

/// Colour bar, range menu and statistics of the result; `comparing` and `reach` as in MatrixViewOptions.
void draw_color_scale(PanelContext& context, const Matrix& result, const Box& box, bool comparing, float reach = 0);

}  // namespace attn::app
