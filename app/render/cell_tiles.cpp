#include "app/render/cell_tiles.hpp"

#include <algorithm>
#include <cmath>

#include "app/render/cell_code.hpp"
#include "app/widgets/value_scale.hpp"

namespace attn::app {

namespace {

struct Span {
    std::int64_t first = 0, last = 0;  ///< texels, half-open
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

/// Replaces every code by the larger of itself and the cell's code.
void take_larger(std::vector<std::uint32_t>& codes, const float* values, const std::uint8_t* keep) {
    std::uint32_t* const out = codes.data();
    const std::size_t count = codes.size();
    if (keep == nullptr) {
        for (std::size_t i = 0; i < count; ++i) out[i] = std::max(out[i], cell_code(values[i]));
        return;
    }
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t all_or_nothing = keep[i] != 0 ? 0xFFFFFFFFU : 0U;
        out[i] = std::max(out[i], cell_code(values[i]) & all_or_nothing);
    }
}

/// Reduces each run of 2^level codes to its maximum, in place.
void shrink(std::vector<std::uint32_t>& codes, int level) {
    std::size_t count = codes.size();
    for (; level > 0; --level) {
        const std::size_t pairs = count / 2;
        for (std::size_t i = 0; i < pairs; ++i) codes[i] = std::max(codes[2 * i], codes[2 * i + 1]);
        if (count % 2 != 0) codes[pairs] = codes[count - 1];
        count = (count + 1) / 2;
    }
}

}  // namespace

AxisLevel axis_level(double cells_per_pixel, int least) {
    if (std::ldexp(cells_per_pixel, -least) <= 1) return {least, 1};
    AxisLevel axis{least, 2};
    while (std::ldexp(2.0, axis.level) < cells_per_pixel) ++axis.level;
    return axis;
}

CellTile build_tile(const HeatmapData& data, const HeatmapStyle& style, const TilePlace& place) {
    if (data.level > 0) {
        // The data is reduced already, so build from its own cells: a maximum of maxima is the maximum of the whole block.
        HeatmapData blocks = data;
        blocks.level = 0;
        blocks.rows = ((data.rows - 1) >> data.level) + 1;
        blocks.cols = ((data.cols - 1) >> data.level) + 1;
        return build_tile(blocks, style, {place.level_x - data.level, place.level_y - data.level, place.x, place.y});
    }
    const Span x = tile_span(place.x, data.cols, place.level_x), y = tile_span(place.y, data.rows, place.level_y);
    CellTile tile{x.first, y.first, static_cast<int>(x.last - x.first), static_cast<int>(y.last - y.first), {}};
    tile.codes.resize(static_cast<std::size_t>(tile.width) * static_cast<std::size_t>(tile.height));
    const std::int64_t first_col = x.first << place.level_x, last_col = std::min(x.last << place.level_x, data.cols);
    const std::int64_t first_row = y.first << place.level_y;
    std::vector<float> placed(static_cast<std::size_t>(last_col - first_col));
    std::vector<std::uint32_t> codes(static_cast<std::size_t>(last_col - first_col));
    for (std::int64_t texel_row = 0; texel_row < tile.height; ++texel_row) {
        const std::int64_t from = first_row + (texel_row << place.level_y);
        std::fill(codes.begin(), codes.end(), kMaskedCell);
        for (std::int64_t row = from; row < std::min(from + (std::int64_t{1} << place.level_y), data.rows); ++row) {
            const bool as_floats = data.values != nullptr && data.col_stride == 1;
            const float* values = as_floats ? data.values + row * data.row_stride + first_col : placed.data();
            if (style.per_row || !as_floats)
                for (std::int64_t col = first_col; col < last_col; ++col)
                    placed[static_cast<std::size_t>(col - first_col)] = data.at(row, col);
            if (style.per_row) replace_by_place(placed, row_style(data, style, row));
            if (style.per_row) values = placed.data();
            take_larger(codes, values, data.keep == nullptr ? nullptr : data.keep + row * data.cols + first_col);
        }
        shrink(codes, place.level_x);
        std::copy_n(codes.begin(), tile.width, tile.codes.begin() + texel_row * tile.width);
    }
    return tile;
}

HeatmapStyle tile_style(const HeatmapStyle& style) {
    if (!style.per_row) return style;
    HeatmapStyle placed{style.map, style.map == ColorMap::Diverging ? -1.0F : 0.0F, 1.0F, false, false};
    return placed;
}

}  // namespace attn::app
