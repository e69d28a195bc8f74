#pragma once
/// A table of statistics with a histogram in the colours of the map.

#include <imgui.h>

#include <string>

#include "app/session/numbers/heatmap_statistics.hpp"
#include "app/widgets/ui.hpp"

namespace attn::app {

/// Shows min, max, mean, std, masked and non-finite counts and the histogram at the cursor, `width` logical pixels wide.
void tensor_stats(const Ui& ui, const TensorStatistics& statistics, const HeatmapStyle& style, float width = 132);
/// Draws only the histogram into [min, max]. `log`: bar heights are logarithmic, so that rare numbers are visible beside common ones.
void draw_histogram(const Ui& ui, ImDrawList& list, ImVec2 min, ImVec2 max, const TensorStatistics& statistics, const HeatmapStyle& style,
                    bool log = false);
/// The height of a bin's bar, 0 to 1; greater than 0 if the bin is not empty.
float bar_height(const TensorStatistics& statistics, int bin, bool log);
/// A note about non-finite numbers, such as "3 NaN, 1 ∞"; "" if there are none.
std::string non_finite_note(const TensorStatistics& statistics);

}  // namespace attn::app
