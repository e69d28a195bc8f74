#pragma once
/// Statistics as a small table with a histogram in the colours of the map beside it.

#include <imgui.h>

#include <string>

#include "app/widgets/statistics.hpp"
#include "app/widgets/ui.hpp"

namespace attn::app {

/// min, max, mean, std, what is masked or no number, and the histogram; at the cursor, `width` logical pixels wide.
void tensor_stats(const Ui& ui, const TensorStatistics& statistics, const HeatmapStyle& style, float width = 132);
/// The histogram alone, in [min, max]; with `log` heights are logarithms of the counts, so that rare numbers are seen beside common ones.
void draw_histogram(const Ui& ui, ImDrawList& list, ImVec2 min, ImVec2 max, const TensorStatistics& statistics, const HeatmapStyle& style,
                    bool log = false);
/// How high the bar of a bin stands, 0 to 1; any number that occurs stands higher than 0.
float bar_height(const TensorStatistics& statistics, int bin, bool log);
/// What is loud about the numbers: "3 NaN, 1 ∞"; "" when nothing is.
std::string non_finite_note(const TensorStatistics& statistics);

}  // namespace attn::app
