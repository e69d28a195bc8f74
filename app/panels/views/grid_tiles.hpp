#pragma once
/// The maps of the grid: which there are, and one of them drawn.

#include <cstdint>
#include <vector>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// A map of the grid.
struct GridTile {
    StageId id;       ///< the shown stage
    StageId weights;  ///< the weights stage of the same attention, for captions and sorting
    std::int64_t head = 0;
    HeadScore score{};  ///< without rows if not known yet; for a mean only its position
    double share = 0;   ///< of the pattern by which heads are sorted
};

/// Whether there is a last column with means over the heads: for weights in layer order, if values are shown.
bool shows_mean(const PanelContext& context);
/// The tiles in the chosen order.
std::vector<GridTile> grid_tiles(const PanelContext& context);

bool is_chosen(const PanelContext& context, const GridTile& tile);
/// Selects a tile, which views of many heads frame and scroll to.
void choose_tile(PanelContext& context, const GridTile& tile);
/// Opens its head step by step; for a mean, all heads of its layer.
void open_tile(PanelContext& context, const GridTile& tile);

/// How to draw a tile.
struct TileLook {
    float size = 0, room = 0;  ///< size of the map; width for the caption below
    float reach = 0;           ///< colour range, see shown_reach()
    bool captions = true;
    bool found = false, sought = false;  ///< it matches the search; a search is active
    bool comes = true;                   ///< a map that is not there yet is being computed
};

/// Draws the map at `at`, for which the last item was begun.
void draw_tile(PanelContext& context, const GridTile& tile, ImVec2 at, const TileLook& look);

}  // namespace attn::app
