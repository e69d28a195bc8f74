#pragma once
/// Maps the cells of a matrix to screen positions.

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "app/widgets/heatmap_view.hpp"

namespace attn::app {

struct HeatmapGeometry {
    ImVec2 min, max;
    CellSpan rows, cols;
    std::int64_t row_count = 0, col_count = 0;

    float cell_w() const { return (max.x - min.x) / static_cast<float>(cols.size()); }
    float cell_h() const { return (max.y - min.y) / static_cast<float>(rows.size()); }
    float x_of(double col) const { return min.x + static_cast<float>(col - cols.first) * cell_w(); }
    float y_of(double row) const { return min.y + static_cast<float>(row - rows.first) * cell_h(); }
    std::int64_t first_row() const { return static_cast<std::int64_t>(std::floor(rows.first)); }
    std::int64_t first_col() const { return static_cast<std::int64_t>(std::floor(cols.first)); }
    std::int64_t end_row() const { return std::min(row_count, static_cast<std::int64_t>(std::ceil(rows.last))); }
    std::int64_t end_col() const { return std::min(col_count, static_cast<std::int64_t>(std::ceil(cols.last))); }

    std::optional<HeatmapCell> cell_at(ImVec2 p) const {
        if (!(p.x >= min.x && p.x < max.x && p.y >= min.y && p.y < max.y)) return std::nullopt;
        const auto row = static_cast<std::int64_t>(std::floor(rows.first + (p.y - min.y) / cell_h()));
        const auto col = static_cast<std::int64_t>(std::floor(cols.first + (p.x - min.x) / cell_w()));
        return HeatmapCell{std::clamp<std::int64_t>(row, 0, row_count - 1), std::clamp<std::int64_t>(col, 0, col_count - 1)};
    }
};

inline HeatmapGeometry heatmap_geometry(ImVec2 min, ImVec2 max, const HeatmapData& data, const HeatmapViewState& state) {
    return {min, max, shown_cells(state.rows, data.rows), shown_cells(state.cols, data.cols), data.rows, data.cols};
}

/// A labelled row and the vertical centre of its label.
struct RowLabel {
    std::int64_t row = 0;
    float middle = 0;
};

/// The visible rows that get a label if each label needs `pitch` pixels: all, or every n-th and the `chosen` one (-1: none).
std::vector<RowLabel> labelled_rows(const HeatmapGeometry& geometry, float pitch, std::int64_t chosen);
/// The number of digits that fit into a cell of this logical width; 0: no number is drawn.
int cell_figures(float width);
/// Draws numbers into cells that are large enough. `dropped`: no zeros, which are crossed.
void draw_cell_numbers(const Ui& ui, ImDrawList& list, const HeatmapGeometry& geometry, const HeatmapData& data, const HeatmapStyle& style,
                       bool dropped = false);
/// Draws labels and titles around the cells.
void draw_heatmap_labels(const Ui& ui, ImDrawList& list, const HeatmapGeometry& geometry, const HeatmapOptions& options);
/// Crosses the cells out that dropout has set to 0, where they are large enough: they look unlike small numbers.
void draw_dropped_cells(const Ui& ui, ImDrawList& list, const HeatmapGeometry& geometry, const HeatmapData& data);
/// Marks the cells set by edits.
void draw_edited_cells(const Ui& ui, ImDrawList& list, const HeatmapGeometry& geometry, const CellMarks& marks);
/// Draws frames around the selected and the hovered cells.
void draw_heatmap_marks(const Ui& ui, ImDrawList& list, const HeatmapGeometry& geometry, const HeatmapMarks& marks);

}  // namespace attn::app
