#pragma once
/// The small bar at a map that says how far it is zoomed, and zooms and fits it.

#include "app/widgets/heatmap_state.hpp"
#include "app/widgets/ui.hpp"

namespace attn::app {

/// Pixels that the bar takes.
ImVec2 zoom_bar_size(const Ui& ui);
/// How far a map is zoomed: "100 %", "3.2 ×".
std::string zoom_words(const HeatmapViewState& state);
/// Minus, how far, plus, Fit with the top left corner at `at`. Zooms about the middle of what is shown; true when the view moved.
bool zoom_bar(const Ui& ui, const char* id, ImVec2 at, HeatmapViewState& state, std::int64_t rows, std::int64_t cols);

}  // namespace attn::app
