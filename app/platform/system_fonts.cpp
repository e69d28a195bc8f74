#include "app/platform/system_fonts.hpp"

#ifdef ATTN_HAS_FONTCONFIG
#include <fontconfig/fontconfig.h>

#include <algorithm>
#include <memory>
#endif

namespace attn::app {

#ifdef ATTN_HAS_FONTCONFIG
namespace {

template <auto Destroy>
struct Destroyer {
    template <class T>
    void operator()(T* owned) const {
        Destroy(owned);
    }
};
using OwnedConfig = std::unique_ptr<FcConfig, Destroyer<FcConfigDestroy>>;
using OwnedPattern = std::unique_ptr<FcPattern, Destroyer<FcPatternDestroy>>;
using OwnedCharacters = std::unique_ptr<FcCharSet, Destroyer<FcCharSetDestroy>>;

/// The font with the most of these letters, in the system's order of preference; has no letters if no font contains any.
SystemFont best_font(FcConfig* config, const LetterSet& letters) {
    SystemFont best;
    const OwnedCharacters wanted(FcCharSetCreate());
    for (const char32_t letter : letters) FcCharSetAddChar(wanted.get(), letter);
    const OwnedPattern pattern(FcPatternCreate());
    FcPatternAddCharSet(pattern.get(), FC_CHARSET, wanted.get());
    FcPatternAddBool(pattern.get(), FC_SCALABLE, FcTrue);
    FcConfigSubstitute(config, pattern.get(), FcMatchPattern);
    FcDefaultSubstitute(pattern.get());
    FcResult result = FcResultMatch;
    const OwnedPattern found(FcFontMatch(config, pattern.get(), &result));
    FcChar8* file = nullptr;
    FcCharSet* has = nullptr;
    if (found == nullptr || FcPatternGetString(found.get(), FC_FILE, 0, &file) != FcResultMatch ||
        FcPatternGetCharSet(found.get(), FC_CHARSET, 0, &has) != FcResultMatch)
        return best;
    best.file = reinterpret_cast<const char*>(file);
    FcPatternGetInteger(found.get(), FC_INDEX, 0, &best.face);
    best.face &= 0xFFFF;  // the upper half selects an instance of a variable font
    for (const char32_t letter : letters)
        if (FcCharSetHasChar(has, letter) != FcFalse) best.letters += letter;
    return best;
}

}  // namespace

std::vector<SystemFont> fonts_with(LetterSet letters) {
    constexpr std::size_t kMostFonts = 4;  // enough for texts that mix scripts
    std::vector<SystemFont> fonts;
    if (letters.empty()) return fonts;
    const OwnedConfig config(FcInitLoadConfigAndFonts());
    while (config != nullptr && !letters.empty() && fonts.size() < kMostFonts) {
        SystemFont next = best_font(config.get(), letters);
        if (next.letters.empty()) break;
        std::erase_if(letters, [&](char32_t letter) { return next.letters.find(letter) != LetterSet::npos; });
        fonts.push_back(std::move(next));
    }
    return fonts;
}
#else
std::vector<SystemFont> fonts_with(LetterSet) { return {}; }
#endif

}  // namespace attn::app
