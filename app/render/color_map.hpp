#pragma once
/// Colour tables for heatmaps in both themes, and CPU lookups that match the shader exactly.

#include <array>
#include <cstdint>

#include "app/widgets/canvas.hpp"

namespace attn::app {

/// Odd, so that a diverging map has an exact middle entry, the pane's colour.
inline constexpr int kColorTableSize = 2049;
/// 0xAABBGGRR, lowest value first.
using ColorTable = std::array<std::uint32_t, kColorTableSize>;

/// The theme around a heatmap, which its colours must match.
struct HeatmapTheme {
    bool dark = true;
    std::uint32_t pane = 0, line = 0, text = 0;  ///< 0xAABBGGRR
    float scale = 1;                             ///< display scale, for the width of hatching and grid lines
    bool operator==(const HeatmapTheme&) const = default;
};

/// Magenta, which no colour map contains, so that such numbers stand out. Infinities add stripes.
inline constexpr std::uint32_t kNanColor = 0xFFFF00FF;

/// Interpolates the control points in OKLab. `map` must not be Auto.
ColorTable color_table(ColorMap map, const HeatmapTheme& theme);

/// Index of the table entry for a position between 0 and 1.
int color_index(float place);

}  // namespace attn::app
