#pragma once
/// The line above the grid: the search for heads, the patterns that they show, and their order.

#include <cstdint>
#include <vector>

#include "app/panels/views/grid_tiles.hpp"

namespace attn::app {

struct GridSearch {
    std::vector<std::uint8_t> found;  ///< 1 for each tile that matches
    bool on = false, is_new = false;  ///< there is one; it differs from that of the last frame
    float bottom = 0;                 ///< where the maps begin
};

/// Draws the search field, the pattern chips and the sort order.
/// `comes`: scores that are not known yet will be.
GridSearch draw_grid_search(PanelContext& context, const std::vector<GridTile>& tiles, float width, bool comes);

}  // namespace attn::app
