#pragma once

#include "app/widgets/theme.hpp"

struct ImFontAtlas;

namespace attn::app {

/// Adds the product's fonts to an empty atlas, at that display scale. Throws PlatformError if a font is damaged.
Fonts add_fonts(ImFontAtlas& atlas, float scale);

}  // namespace attn::app
