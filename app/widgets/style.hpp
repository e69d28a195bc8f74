#pragma once
/// Styles Dear ImGui's own widgets to match ours.

#include "app/widgets/theme.hpp"

namespace attn::app {

/// Sets the style of the current ImGui context, with sizes multiplied by the theme's scale.
void apply_style(const Theme& theme);

}  // namespace attn::app
