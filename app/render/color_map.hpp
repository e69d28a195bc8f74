#pragma once
/// Colour tables of heatmaps in both themes, and the colour of one number exactly as the shader picks it.

#include <array>
#include <cstdint>
#include <string_view>

#include "app/widgets/canvas.hpp"

namespace attn::app {

/// Odd, so that the middle of a diverging map is an entry of its own: exactly the pane's colour.
inline constexpr int kColorTableSize = 2049;
/// 0xAABBGGRR from the lower to the upper end.
using ColorTable = std::array<std::uint32_t, kColorTableSize>;

/// The surroundings that a heatmap has to fit.
struct HeatmapTheme {
    bool dark = true;
    std::uint32_t pane = 0, line = 0, text = 0;  ///< 0xAABBGGRR
    float scale = 1;                             ///< display scale: width of hatching and of grid lines
    bool operator==(const HeatmapTheme&) const = default;
};

/// What no colour map uses, so that such numbers cannot be overlooked: plain magenta. Infinities are stripes over it.
inline constexpr std::uint32_t kNanColor = 0xFFFF00FF;

/// Control points are mixed in OKLab. `map` is not Auto.
ColorTable color_table(ColorMap map, const HeatmapTheme& theme);

/// Entry of the table for a place between 0 and 1.
int color_index(float place);

/// "sequential", "diverging", "viridis", "cividis", "grey", "auto".
std::string_view color_map_name(ColorMap map);

}  // namespace attn::app
