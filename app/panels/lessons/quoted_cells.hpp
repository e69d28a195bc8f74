#pragma once
/// Connects the numbers in a lesson's caption with their cells: colours in the text, marks in the picture.

#include <optional>
#include <string>

#include "app/panels/kit/panel_context.hpp"
#include "app/session/numbers/number_desk.hpp"
#include "app/widgets/heatmap_geometry.hpp"

namespace attn::app {

/// The colours of a cell in the maps, with a readable text colour.
struct CellLook {
    Color fill = 0, ink = 0;
    bool masked = false;  ///< hatched; `fill` is the pane's colour
};
/// None for rows, for places outside of maps, and if maps show something other than values.
std::optional<CellLook> look_of_cell(PanelContext& context, const QuotedPlace& place);

/// Such as "Weights, layer 2, head 3: query 16 “?”, key 6 “Lily”".
std::string place_words(const PanelContext& context, const QuotedPlace& place);

/// Highlights the place in all maps as if it were hovered.
void light_up(PanelContext& context, const QuotedPlace& place);

/// To be called for every map drawn: records where quoted cells are, and marks them.
void mark_quoted_cells(PanelContext& context, const Matrix& matrix, const HeatmapGeometry& geometry, const HeatmapResult& result);

/// Draws an arrow from the hovered number to its cell; once per frame, on top of the panes.
void draw_caption_pointer(const PanelContext& context);

}  // namespace attn::app
