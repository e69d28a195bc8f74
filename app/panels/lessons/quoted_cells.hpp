#pragma once
/// The cells that a lesson's caption speaks of: their colour beside the words, their place in the picture.

#include <optional>
#include <string>

#include "app/panels/panel_context.hpp"
#include "app/widgets/heatmap_geometry.hpp"

namespace attn::app {

/// How a cell looks in the maps, and ink that can be read on it.
struct CellLook {
    Color fill = 0, ink = 0;
    bool masked = false;  ///< hatched; `fill` is then the pane's colour
};
/// Nothing for rows, for what is no map, and where maps show something else than numbers.
std::optional<CellLook> look_of_cell(PanelContext& context, const QuotedPlace& place);

/// "Weights, layer 2, head 3: query 16 “?”, key 6 “Lily”"
std::string place_words(const PanelContext& context, const QuotedPlace& place);

/// Lights up the place in every map, as if the mouse were there.
void light_up(PanelContext& context, const QuotedPlace& place);

/// Called by every map that is drawn: notes where the quoted cells lie, and marks them.
void mark_quoted_cells(PanelContext& context, const Matrix& matrix, const HeatmapGeometry& geometry);

/// From the number that is pointed at to its cell; once a frame, over the panes.
void draw_caption_pointer(const PanelContext& context);

}  // namespace attn::app
