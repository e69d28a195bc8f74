#pragma once
/// Splits a matrix into tiles of bounded size for texture upload; each texel is the code of a block of cells. Independent of OpenGL.

#include <cstdint>
#include <vector>

#include "app/widgets/canvas.hpp"

namespace attn::app {

/// The resolution along one axis: a texel covers 2^level cells and each pixel takes `samples` texels, so that texels are never narrower
/// than the sampling distance and none is skipped.
struct AxisLevel {
    int level = 0;
    int samples = 1;
    bool operator==(const AxisLevel&) const = default;
};

/// The level for this many cells per pixel (> 0), at least `least`.
AxisLevel axis_level(double cells_per_pixel, int least = 0);

/// Texels per side of a tile, excluding the one-texel border shared with each neighbour.
inline constexpr std::int64_t kTileTexels = 1024;

struct TilePlace {
    int level_x = 0, level_y = 0;
    std::int64_t x = 0, y = 0;  ///< index of the tile within its level
    bool operator==(const TilePlace&) const = default;
};

struct CellTile {
    std::int64_t first_x = 0, first_y = 0;  ///< position of the first texel within the level
    int width = 0, height = 0;              ///< in texels, including borders
    std::vector<std::uint32_t> codes;       ///< [height, width], see cell_code.hpp
};

/// Builds one tile. A texel holds the number of largest magnitude in its block and is masked only if the whole block is. For a per-row
/// style, numbers are first replaced by their position on their row's scale: 0 to 1, or -1 to 1 for a diverging map. The tile must overlap
/// the matrix and its levels must not be finer than the data's.
CellTile build_tile(const HeatmapData& data, const HeatmapStyle& style, const TilePlace& place);

/// The style for drawing a tile: `style` itself, or the common scale that per-row numbers were mapped to.
HeatmapStyle tile_style(const HeatmapStyle& style);

}  // namespace attn::app
