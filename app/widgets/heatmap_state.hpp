#pragma once
/// The visible part of a matrix: zoom and pan of both axes, independent of pixels and of the matrix size.

#include <imgui.h>

#include <cstdint>

namespace attn::app {

/// Zoom 1 shows all cells. `center` is the centre of the visible part as a fraction of the axis.
struct AxisView {
    float zoom = 1, center = 0.5f;
    bool operator==(const AxisView&) const = default;
};

/// Owned by the caller. Maps that share an axis (an operand and its product) share its `rows` or `cols`.
struct HeatmapViewState {
    AxisView rows, cols;
    bool operator==(const HeatmapViewState&) const = default;
    bool whole() const { return rows.zoom <= 1 && cols.zoom <= 1; }
};

/// The visible cells along an axis, [first, last), with fractional ends.
struct CellSpan {
    double first = 0, last = 0;
    double size() const { return last - first; }
};

/// The visible cells out of n; n < 1 is treated as 1.
CellSpan shown_cells(const AxisView& view, std::int64_t n);
/// Zooms and keeps the position at `anchor` (0 to 1 of the visible part) in place; limited to between all cells and about one.
void zoom_axis(AxisView& view, std::int64_t n, float factor, float anchor);
/// Zooms both axes by this many wheel steps; positive zooms in.
void zoom_heatmap(HeatmapViewState& state, std::int64_t rows, std::int64_t cols, float turns, ImVec2 anchor);
/// Pans by that many cells, within the matrix.
void pan_axis(AxisView& view, std::int64_t n, double cells);
/// Pans as little as needed to show the whole cell.
void reveal_cell(AxisView& view, std::int64_t n, std::int64_t cell);

}  // namespace attn::app
