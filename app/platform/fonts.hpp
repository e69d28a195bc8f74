#pragma once

#include "app/widgets/theme.hpp"

namespace attn::app {

/// Replaces the fonts of the current ImGui context by the product's, at that display scale. Throws PlatformError if a font is damaged.
Fonts load_fonts(float scale);

}  // namespace attn::app
