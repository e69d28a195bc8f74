#pragma once
/// Where the maps of all heads stand in the view Heads.

#include <cstdint>

#include "app/widgets/ui.hpp"

namespace attn::app {

/// Pixels that the tiling goes by.
struct HeadsRoom {
    ImVec2 size;              ///< of all maps with what stands around them
    float aspect = 1;         ///< a map's width ÷ height
    float longest_title = 0;  ///< "head 31"
    float scale = 1;          ///< of the display
};

/// Columns, and the sizes of a map and of what stands around it in pixels.
struct HeadsTiling {
    std::int64_t columns = 1;
    float width = 0, height = 0;  ///< of one map
    float above = 0;              ///< from the top of its title to the map
    float gap = 0;                ///< between maps
    bool keys_named = true;       ///< tokens above the columns; small maps are larger without
    bool short_titles = false;    ///< "H31", where "head 31" would run into the next one
};

/// The number of columns that makes the maps largest.
HeadsTiling tile_heads(const HeadsRoom& room, std::int64_t heads);

}  // namespace attn::app
