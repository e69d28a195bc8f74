#include "app/render/cell_tiles.hpp"

#include <algorithm>
#include <cmath>

#include "app/render/cell_code.hpp"
#include "app/widgets/value_scale.hpp"

namespace attn::app {

namespace {

struct Span {
    std::int64_t first = 0, last = 0;  ///< texels, last excluded
};

Span tile_span(std::int64_t tile, std::int64_t cells, int level) {
    const std::int64_t texels = ((cells - 1) >> level) + 1;
    return {std::max<std::int64_t>(tile * kTileTexels - 1, 0), std::min((tile + 1) * kTileTexels + 1, texels)};
}

void replace_by_place(std::vector<float>& row, const HeatmapStyle& own) {
    const ValueScale scale = value_scale(own);
    for (float& v : row) {
        if (!std::isfinite(v)) continue;
        v = place_of(scale, v);
        if (own.map == ColorMap::Diverging) v = 2 * v - 1;
    }
}

}  // namespace

AxisLevel axis_level(double cells_per_pixel) {
    if (cells_per_pixel <= 1) return {0, 1};
    AxisLevel axis{0, 2};
    while (std::ldexp(2.0, axis.level) < cells_per_pixel) ++axis.level;
    return axis;
}

CellTile build_tile(const HeatmapData& data, const HeatmapStyle& style, const TilePlace& place) {
    const Span x = tile_span(place.x, data.cols, place.level_x), y = tile_span(place.y, data.rows, place.level_y);
    CellTile tile{x.first, y.first, static_cast<int>(x.last - x.first), static_cast<int>(y.last - y.first), {}};
    tile.codes.assign(static_cast<std::size_t>(tile.width) * static_cast<std::size_t>(tile.height), kMaskedCell);
    const std::int64_t first_col = x.first << place.level_x, last_col = std::min(x.last << place.level_x, data.cols);
    const std::int64_t first_row = y.first << place.level_y, last_row = std::min(y.last << place.level_y, data.rows);
    std::vector<float> placed;
    for (std::int64_t row = first_row; row < last_row; ++row) {
        const float* values = data.values + row * data.row_stride + first_col;
        if (style.per_row) {
            placed.assign(values, values + (last_col - first_col));
            replace_by_place(placed, row_style(data, style, row));
            values = placed.data();
        }
        const std::uint8_t* keep = data.keep == nullptr ? nullptr : data.keep + row * data.cols + first_col;
        std::uint32_t* out = tile.codes.data() + ((row >> place.level_y) - y.first) * tile.width;
        for (std::int64_t col = 0; col < last_col - first_col; ++col) {
            const std::uint32_t code = keep != nullptr && keep[col] == 0 ? kMaskedCell : cell_code(values[col]);
            std::uint32_t& texel = out[col >> place.level_x];
            texel = std::max(texel, code);
        }
    }
    return tile;
}

HeatmapStyle tile_style(const HeatmapStyle& style) {
    if (!style.per_row) return style;
    HeatmapStyle placed{style.map, style.map == ColorMap::Diverging ? -1.0F : 0.0F, 1.0F, false, false};
    return placed;
}

}  // namespace attn::app
