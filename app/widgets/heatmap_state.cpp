#include "app/widgets/heatmap_state.hpp"

#include <algorithm>
#include <cmath>

namespace attn::app {
namespace {

/// The fewest cells that a zoomed axis may show.
constexpr double kFewest = 1.5;
constexpr float kZoomStep = 1.2F;

double count(std::int64_t n) { return static_cast<double>(std::max<std::int64_t>(n, 1)); }

/// Clamps the zoom for n cells, because view states outlive the matrices they were made for.
double usable_zoom(const AxisView& view, double n) {
    const double zoom = std::isfinite(view.zoom) ? view.zoom : 1;
    return std::clamp(zoom, 1.0, std::max(1.0, n / kFewest));
}

void show(AxisView& view, double first, double shown, double n) {
    first = std::clamp(first, 0.0, n - shown);
    view.zoom = static_cast<float>(n / shown);
    view.center = static_cast<float>((first + shown / 2) / n);
}

}  // namespace

CellSpan shown_cells(const AxisView& view, std::int64_t n) {
    const double all = count(n), shown = all / usable_zoom(view, all);
    if (shown >= all) return {0, all};
    const double first = std::clamp(static_cast<double>(view.center) * all - shown / 2, 0.0, all - shown);
    return {first, first + shown};
}

void zoom_axis(AxisView& view, std::int64_t n, float factor, float anchor) {
    const double all = count(n);
    const CellSpan now = shown_cells(view, n);
    const double zoom = std::clamp(all / now.size() * factor, 1.0, std::max(1.0, all / kFewest));
    const double shown = all / zoom, fixed = now.first + now.size() * anchor;
    show(view, fixed - shown * anchor, shown, all);
}

void zoom_heatmap(HeatmapViewState& state, std::int64_t rows, std::int64_t cols, float turns, ImVec2 anchor) {
    const float factor = std::pow(kZoomStep, turns);
    zoom_axis(state.rows, rows, factor, anchor.y);
    zoom_axis(state.cols, cols, factor, anchor.x);
}

void pan_axis(AxisView& view, std::int64_t n, double cells) {
    const CellSpan now = shown_cells(view, n);
    show(view, now.first + cells, now.size(), count(n));
}

void reveal_cell(AxisView& view, std::int64_t n, std::int64_t cell) {
    const CellSpan now = shown_cells(view, n);
    const auto at = static_cast<double>(cell);
    if (at < now.first) {
        show(view, at, now.size(), count(n));
    } else if (at + 1 > now.last) {
        show(view, at + 1 - now.size(), now.size(), count(n));
    }
}

}  // namespace attn::app
