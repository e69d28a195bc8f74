#include "app/panels/views/grid_layout.hpp"

#include <algorithm>
#include <cmath>

namespace attn::app {
namespace {

/// The number of lines needed for `count` items.
std::int64_t lines_needed(std::int64_t count, std::int64_t columns) { return (count + columns - 1) / columns; }

constexpr float kCaption = 20, kTileGap = 10, kDenseGap = 4, kMinTile = 34, kDenseTile = 20, kCaptionedTile = 56, kMaxTile = 320,
                kSortedPitch = 92, kLabel = 34, kLabelOfHeads = 54;

/// Shrinks tiles until all lines fit; below the smallest legible size the grid scrolls instead.
GridLayout lay_out_tiles(const PanelContext& context, ImVec2 size, std::int64_t columns, std::int64_t lines, bool captions, float legible,
                         float label = kLabel) {
    GridLayout grid;
    grid.columns = columns;
    grid.captions = captions;
    grid.label = context.px(label);
    const auto rows = static_cast<float>(std::max<std::int64_t>(lines, 1));
    const float gap = context.px(captions ? kTileGap : kDenseGap), caption = captions ? context.px(kCaption) : 0;
    const float least = context.px(legible);
    const float by_width = (size.x - grid.label) / static_cast<float>(grid.columns) - gap;
    const float by_height = size.y / rows - caption - gap;
    grid.tile =
        std::floor(std::clamp(std::min(by_width, by_height), std::min(least, std::max(by_width, context.px(12))), context.px(kMaxTile)));
    const float apart = captions ? grid.tile * 1.5F + context.px(60) : grid.tile * 1.25F + gap;
    grid.pitch_x = std::min((size.x - grid.label) / static_cast<float>(grid.columns), apart);
    grid.pitch_y = std::max(grid.tile + caption + gap, std::min(size.y / rows, grid.tile + caption + context.px(50)));
    return grid;
}

}  // namespace

GridLayout lay_out_grid(const PanelContext& context, ImVec2 size, std::int64_t heads, std::int64_t count) {
    if (!context.view.heads.sort_by.empty()) {
        const auto room = static_cast<std::int64_t>(size.x / context.px(kSortedPitch));
        const std::int64_t columns = std::clamp<std::int64_t>(heads, 1, std::max<std::int64_t>(room, 1));
        return lay_out_tiles(context, size, columns, lines_needed(count, columns), true, kMinTile);
    }
    const std::int64_t layers = count / heads;
    GridLayout grid = lay_out_tiles(context, size, heads, layers, true, kMinTile);
    if (grid.tile >= context.px(kCaptionedTile)) return grid;
    grid = lay_out_tiles(context, size, heads, layers, false, kDenseTile);
    for (std::int64_t lines = 2; grid.tile < context.px(kDenseTile) && lines <= heads; ++lines) {
        const std::int64_t columns = lines_needed(heads, lines);
        grid = lay_out_tiles(context, size, columns, layers * lines, false, kMinTile, kLabelOfHeads);
        grid.lines = lines_needed(heads, columns);
    }
    return grid;
}

bool has_room_for_bar(const PanelContext& context, ImVec2 size, std::int64_t heads, std::int64_t count) {
    const GridLayout without = lay_out_grid(context, size, heads, count),
                     with = lay_out_grid(context, {size.x - context.px(kGridBar), size.y}, heads, count);
    return with.captions == without.captions && with.lines == without.lines && with.tile >= 0.9F * without.tile;
}

GridPlace place_in_grid(std::int64_t tile, std::int64_t group, const GridLayout& grid) {
    const std::int64_t within = tile % group;
    return {tile / group * grid.lines + within / grid.columns, within % grid.columns};
}

}  // namespace attn::app
