#pragma once
/// The look of what is masked, outside of heatmaps: 45° hatching in the line colour.

#include <imgui.h>

#include "app/widgets/theme.hpp"

namespace attn::app {

void draw_hatching(ImDrawList& list, const Theme& theme, ImVec2 min, ImVec2 max);

}  // namespace attn::app
