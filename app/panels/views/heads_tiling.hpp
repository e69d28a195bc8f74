#pragma once
/// Arranges the maps of all heads in the Heads view.

#include <cstdint>

#include "app/widgets/ui.hpp"

namespace attn::app {

/// Input sizes in pixels.
struct HeadsRoom {
    ImVec2 size;              ///< available for all maps and what surrounds them
    float aspect = 1;         ///< width ÷ height of a map
    float longest_title = 0;  ///< width of "head 31"
    float scale = 1;          ///< display scale
};

/// The number of columns and the sizes in pixels.
struct HeadsTiling {
    std::int64_t columns = 1;
    float width = 0, height = 0;  ///< of one map
    float above = 0;              ///< from the top of the title to the map
    float gap = 0;                ///< between maps
    bool keys_named = true;       ///< show tokens above columns; left out to enlarge small maps
    bool short_titles = false;    ///< "H31" instead of "head 31", which would not fit
};

/// Chooses the number of columns that gives the largest maps.
HeadsTiling tile_heads(const HeadsRoom& room, std::int64_t heads);

}  // namespace attn::app
