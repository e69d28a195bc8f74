#pragma once
/// A matrix as textures of bounded size: tiles of cell codes, each texel standing for a block of cells. No GL in here.

#include <cstdint>
#include <vector>

#include "app/widgets/canvas.hpp"

namespace attn::app {

/// How one axis is drawn: a texel stands for 2^level cells and every pixel looks at `samples` texels, so that a texel is never
/// narrower than the distance between two samples and none is missed.
struct AxisLevel {
    int level = 0;
    int samples = 1;
    bool operator==(const AxisLevel&) const = default;
};

/// Level for that many cells per pixel (> 0), `least` or coarser.
AxisLevel axis_level(double cells_per_pixel, int least = 0);

/// Texels along a side of a tile, without the border of one texel it shares with each neighbour.
inline constexpr std::int64_t kTileTexels = 1024;

struct TilePlace {
    int level_x = 0, level_y = 0;
    std::int64_t x = 0, y = 0;  ///< index of the tile in its level
    bool operator==(const TilePlace&) const = default;
};

struct CellTile {
    std::int64_t first_x = 0, first_y = 0;  ///< the first texel, counted in texels of the level
    int width = 0, height = 0;              ///< texels, borders included
    std::vector<std::uint32_t> codes;       ///< [height, width], cell_code.hpp
};

/// Codes of one tile; a texel holds the number of largest magnitude of its block, and is masked only if all of the block is.
/// For a per-row style the numbers are first replaced by their place on the row's own scale: 0 to 1, or -1 to 1 for a diverging map.
/// The tile has to overlap the matrix, and its levels must not be finer than the data's.
CellTile build_tile(const HeatmapData& data, const HeatmapStyle& style, const TilePlace& place);

/// The style with which a tile's numbers are drawn: the given one, or the scale that per-row numbers were put on.
HeatmapStyle tile_style(const HeatmapStyle& style);

}  // namespace attn::app
