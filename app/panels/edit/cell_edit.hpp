#pragma once
/// In-place editing of a number, row or head: the field opened by a double-click and the context menu.

#include "app/panels/kit/panel_context.hpp"
#include "app/session/numbers/number_desk.hpp"
#include "app/widgets/heatmap_geometry.hpp"

namespace attn::app {

/// To be called for every map drawn: handles clicks on its cells.
void offer_edits(PanelContext& context, const Matrix& matrix, const HeatmapGeometry& geometry, const HeatmapResult& result);

/// Opens the field for the selected cell of the shown stage, as Enter and the button of the cell pane do.
void edit_chosen_cell(PanelContext& context);

/// Draws the field and the menu, once per frame on top of everything else.
void draw_cell_edit(PanelContext& context);

/// Adds an edit to the document.
void emit_edit(PanelContext& context, const Edit& edit);

/// Marks the corner of a small map that contains edited numbers.
void draw_edited_corner(const PanelContext& context, const Matrix& matrix, ImVec2 min, ImVec2 max);

}  // namespace attn::app
