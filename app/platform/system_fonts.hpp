#pragma once
/// The system's own fonts, for scripts that the embedded ones lack.

#include <filesystem>
#include <string>
#include <vector>

namespace attn::app {

/// Characters that texts on screen have: sorted, each once.
using LetterSet = std::u32string;

/// A font file, and which of the letters that were asked for it has.
struct SystemFont {
    std::filesystem::path file;
    int face = 0;  ///< of a collection
    LetterSet letters;
};

/// Few fonts that have the letters between them, as far as the system has any; none where it cannot be asked.
std::vector<SystemFont> fonts_with(LetterSet letters);

}  // namespace attn::app
