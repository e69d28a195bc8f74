#pragma once
/// Dear ImGui's own widgets in the product's colours and measures.

#include "app/widgets/theme.hpp"

namespace attn::app {

/// Sets the style of the current ImGui context; sizes are multiplied by the theme's scale.
void apply_style(const Theme& theme);

}  // namespace attn::app
