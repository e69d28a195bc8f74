#pragma once
/// Changing a number, a row or a head where it stands: the field that a double click opens and the menu of the right button.

#include "app/panels/panel_context.hpp"
#include "app/widgets/heatmap_geometry.hpp"

namespace attn::app {

/// Why the numbers of a map cannot be changed, "" when they can.
std::string why_not_editable(const PanelContext& context, const Matrix& matrix);

/// Called by every map that is drawn: takes up what was clicked there.
void offer_edits(PanelContext& context, const Matrix& matrix, const HeatmapGeometry& geometry, const HeatmapResult& result);

/// Opens the field for the locked cell of the shown stage, as Enter does.
void edit_chosen_cell(PanelContext& context);

/// The field and the menu themselves, once a frame over everything else.
void draw_cell_edit(PanelContext& context);

/// Adds an edit to the document.
void emit_edit(PanelContext& context, const Edit& edit);

/// A mark in the corner of a small map whose numbers were changed.
void draw_edited_corner(const PanelContext& context, const Matrix& matrix, ImVec2 min, ImVec2 max);

}  // namespace attn::app
