#pragma once

#include <string>
#include <vector>

#include "app/platform/system_fonts.hpp"
#include "app/widgets/theme.hpp"

struct ImFontAtlas;

namespace attn::app {

/// The letters that the product's own fonts lack.
LetterSet letters_lacking(const LetterSet& letters);

/// A font of the system, read, and the ranges of its letters, which have to live as long as the atlas is not rasterised.
struct ReadFont {
    std::string bytes;
    int face = 0;
    std::vector<unsigned short> ranges;  ///< first and last of each, then 0
};
/// What the system has for these letters; files that cannot be read are left out.
std::vector<ReadFont> read_system_fonts(const LetterSet& letters);

/// Adds the product's fonts to an empty atlas, at that display scale, and to each of them the letters of `more`. Throws PlatformError if a
/// font of ours is damaged.
Fonts add_fonts(ImFontAtlas& atlas, float scale, const std::vector<ReadFont>& more = {});

}  // namespace attn::app
