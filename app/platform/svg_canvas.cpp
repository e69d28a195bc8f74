#include "app/platform/svg_canvas.hpp"

#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "app/widgets/value_scale.hpp"

namespace attn::app {

namespace {

/// A no-op callback that marks the place of a heatmap in a draw list.
void marker(const ImDrawList*, const ImDrawCmd*) {}

/// The visible part of an axis: `count` blocks of cells, clipped at both ends.
struct Blocks {
    double first, last;  // in cells
    std::int64_t cells_per_block;
    float low, high;  // in pixels

    Blocks(float shown_first, float shown_last, std::int64_t cells, float pixel_low, float pixel_high)
        : first(shown_last > shown_first ? static_cast<double>(shown_first) : 0),
          last(shown_last > shown_first ? static_cast<double>(shown_last) : static_cast<double>(cells)), low(pixel_low), high(pixel_high) {
        const double cell = static_cast<double>(high - low) / (last - first);
        cells_per_block = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(1 / std::max(cell, 1e-6))));
    }
    std::int64_t begin() const { return std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(first))); }
    float pixel(double cell) const {
        const double at = (std::clamp(cell, first, last) - first) / (last - first);
        return low + static_cast<float>(at) * (high - low);
    }
};

/// Combines the cells of a block into one.
SvgCell block_of(const HeatmapData& data, std::int64_t row, std::int64_t end_row, std::int64_t col, std::int64_t end_col, float& value) {
    SvgCell cell;
    cell.kind = SvgCell::Kind::Masked;
    float largest = -1;
    // A number of a reduced map stands for several cells.
    const auto next = [&](std::int64_t at) { return ((at >> data.level) + 1) << data.level; };
    for (std::int64_t r = row; r < end_row; r = next(r))
        for (std::int64_t c = col; c < end_col; c = next(c)) {
            if (data.masked(r, c)) continue;
            const float v = data.at(r, c);
            if (std::isnan(v)) {
                cell.kind = SvgCell::Kind::Nan;
                return cell;
            }
            if (std::abs(v) <= largest) continue;
            largest = std::abs(v);
            value = v;
            cell.kind = !std::isinf(v) ? SvgCell::Kind::Number : v > 0 ? SvgCell::Kind::Infinite : SvgCell::Kind::MinusInfinite;
        }
    return cell;
}

}  // namespace

void SvgCanvas::heatmap(ImDrawList& list, const ImVec2& min, const ImVec2& max, const HeatmapRequest& request) {
    const HeatmapData& data = request.data;
    if (data.rows < 1 || data.cols < 1 || max.x <= min.x || max.y <= min.y) return;
    const Blocks rows(request.first_row, request.last_row, data.rows, min.y, max.y),
        cols(request.first_col, request.last_col, data.cols, min.x, max.x);
    SvgHeatmap& heatmap = heatmaps_.emplace_back();
    const auto end_row = std::min(data.rows, static_cast<std::int64_t>(std::ceil(rows.last)));
    const auto end_col = std::min(data.cols, static_cast<std::int64_t>(std::ceil(cols.last)));
    for (std::int64_t row = rows.begin(); row < end_row; row += rows.cells_per_block) {
        const HeatmapStyle style = row_style(data, request.style, row);
        const std::int64_t next_row = std::min(row + rows.cells_per_block, end_row);
        for (std::int64_t col = cols.begin(); col < end_col; col += cols.cells_per_block) {
            const std::int64_t next_col = std::min(col + cols.cells_per_block, end_col);
            float value = 0;
            SvgCell cell = block_of(data, row, next_row, col, next_col, value);
            if (cell.kind == SvgCell::Kind::Number) cell.color = color(style, value);
            cell.x0 = cols.pixel(static_cast<double>(col));
            cell.x1 = cols.pixel(static_cast<double>(next_col));
            cell.y0 = rows.pixel(static_cast<double>(row));
            cell.y1 = rows.pixel(static_cast<double>(next_row));
            heatmap.cells.push_back(cell);
        }
    }
    list.AddCallback(marker, &heatmap);
}

const SvgHeatmap* SvgCanvas::heatmap_of(const ImDrawCmd& command) {
    return command.UserCallback == marker ? static_cast<const SvgHeatmap*>(command.UserCallbackData) : nullptr;
}

}  // namespace attn::app
