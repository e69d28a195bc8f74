#pragma once

#include <string>
#include <vector>

#include "app/platform/system_fonts.hpp"
#include "app/widgets/theme.hpp"

struct ImFontAtlas;

namespace attn::app {

/// The letters missing in the embedded fonts.
LetterSet letters_lacking(const LetterSet& letters);

/// A system font read into memory. Must stay alive until the atlas has been rasterised.
struct ReadFont {
    std::string bytes;
    int face = 0;
    std::vector<unsigned short> ranges;  ///< first and last code point of each range, terminated by 0
};
/// System fonts that contain these letters; unreadable files are skipped.
std::vector<ReadFont> read_system_fonts(const LetterSet& letters);

/// Adds the embedded fonts to an empty atlas at this display scale, and the letters of `more` to each of them. Throws PlatformError if an
/// embedded font is damaged.
Fonts add_fonts(ImFontAtlas& atlas, float scale, const std::vector<ReadFont>& more = {});

}  // namespace attn::app
