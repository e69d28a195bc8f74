#pragma once
/// Which part of a matrix is shown: zoom and pan of each axis, independent of pixels and of the matrix' size.

#include <imgui.h>

#include <cstdint>

namespace attn::app {

/// zoom 1 shows all n cells; `center` is the middle of what is shown as a part (0 to 1) of all.
struct AxisView {
    float zoom = 1, center = 0.5f;
    bool operator==(const AxisView&) const = default;
};

/// Owned by the caller. Maps that share rows (an operand and its product) take each other's `rows`, and so with columns.
struct HeatmapViewState {
    AxisView rows, cols;
    bool operator==(const HeatmapViewState&) const = default;
    bool whole() const { return rows.zoom <= 1 && cols.zoom <= 1; }
};

/// The cells shown along one axis: [first, last), fractions of cells at the ends.
struct CellSpan {
    double first = 0, last = 0;
    double size() const { return last - first; }
};

/// The cells shown of n; all of them when n < 1 is taken as 1.
CellSpan shown_cells(const AxisView& view, std::int64_t n);
/// Zooms so that the place at `anchor` (0 to 1 of what is shown) stays where it is; never below everything or above about one cell.
void zoom_axis(AxisView& view, std::int64_t n, float factor, float anchor);
/// Zooms both axes by so many turns of the wheel, inwards where positive.
void zoom_heatmap(HeatmapViewState& state, std::int64_t rows, std::int64_t cols, float turns, ImVec2 anchor);
/// Moves what is shown by that many cells, as far as there are cells.
void pan_axis(AxisView& view, std::int64_t n, double cells);
/// Moves as little as needed to show the cell whole.
void reveal_cell(AxisView& view, std::int64_t n, std::int64_t cell);

}  // namespace attn::app
