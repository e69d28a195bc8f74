#pragma once
/// A small bar at a map that shows its zoom, with buttons to zoom and fit it.

#include "app/widgets/heatmap_state.hpp"
#include "app/widgets/ui.hpp"

namespace attn::app {

/// Size of the bar in pixels.
ImVec2 zoom_bar_size(const Ui& ui);
/// The zoom level as text: "100 %", "3.2 ×".
std::string zoom_words(const HeatmapViewState& state);
/// Draws minus, the zoom level, plus and Fit with the top left corner at `at`. Zooms about the centre of the view; true if the view
/// changed.
bool zoom_bar(const Ui& ui, const char* id, ImVec2 at, HeatmapViewState& state, std::int64_t rows, std::int64_t cols);

}  // namespace attn::app
