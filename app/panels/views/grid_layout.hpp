#pragma once
/// Arranges the maps of the grid.

#include <imgui.h>

#include <cstdint>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

struct GridLayout {
    std::int64_t columns = 1, lines = 1;  ///< lines per layer; each layer starts on a new line, and each line names its heads
    bool captions = true;
    float tile = 0, pitch_x = 0, pitch_y = 0, label = 0;
};

/// One column per head. Small maps are packed without captions (tooltips have them); if even smaller, a layer takes several lines. Sorted
/// maps have captions that tell their position.
GridLayout lay_out_grid(const PanelContext& context, ImVec2 size, std::int64_t heads, std::int64_t count);
/// Whether the bar of colours fits beside the maps without making them much smaller.
bool has_room_for_bar(const PanelContext& context, ImVec2 size, std::int64_t heads, std::int64_t count);

inline constexpr float kGridBar = 118;  ///< width of that bar in logical pixels

struct GridPlace {
    std::int64_t row = 0, col = 0;
};

/// The position of a tile, where every group of `group` tiles starts on a new line.
GridPlace place_in_grid(std::int64_t tile, std::int64_t group, const GridLayout& grid);

}  // namespace attn::app
