#pragma once
/// 45° hatching in the line colour, which marks masked areas outside of heatmaps.

#include <imgui.h>

#include "app/widgets/theme.hpp"

namespace attn::app {

void draw_hatching(ImDrawList& list, const Theme& theme, ImVec2 min, ImVec2 max);

}  // namespace attn::app
