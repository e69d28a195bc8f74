#pragma once
/// Finds system fonts for scripts that the embedded fonts lack.

#include <filesystem>
#include <string>
#include <vector>

namespace attn::app {

/// Code points used on screen, sorted and unique.
using LetterSet = std::u32string;

/// A font file and the requested letters that it contains.
struct SystemFont {
    std::filesystem::path file;
    int face = 0;  ///< index within a font collection
    LetterSet letters;
};

/// A few fonts that together contain the letters, as far as the system has them; empty if fontconfig is not available.
std::vector<SystemFont> fonts_with(LetterSet letters);

}  // namespace attn::app
