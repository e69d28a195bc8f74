#pragma once
/// Font atlases at several scales: the window's and that of an enlarged picture.

#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "app/platform/fonts.hpp"
#include "app/widgets/theme.hpp"

struct ImFontAtlas;

namespace attn::app {

/// Replaces the font atlas of the current ImGui context during its lifetime. Needs a current OpenGL context.
class FontSets {
public:
    FontSets();
    ~FontSets();
    FontSets(const FontSets&) = delete;
    FontSets& operator=(const FontSets&) = delete;

    /// Makes ImGui use the fonts at this scale from its next frame on. Unless they are cached, this blocks for 0.1 to 1 s. Throws
    /// PlatformError if a font is damaged.
    Fonts use(float scale);
    /// Sets the letters that must be added from system fonts. Takes effect with the next use().
    void want(LetterSet letters) { letters_ = std::move(letters); }
    /// Whether use() would return at once. If not, starts building the fonts on another thread. Rethrows errors from there.
    bool at_hand(float scale);

private:
    struct Set;
    Set* find(float scale) const;
    /// Caches a set; drops all others except the one in use.
    void keep(std::unique_ptr<Set> set);

    ImFontAtlas* aside_;                      ///< the context's original atlas
    std::vector<std::unique_ptr<Set>> sets_;  ///< the one in use and at most one other
    const Set* used_ = nullptr;               ///< the set in use
    LetterSet letters_;                       ///< used in texts but missing in the embedded fonts
    std::vector<ReadFont> more_;              ///< with later versions of ImGui: the font data that the atlas reads from
    std::future<std::unique_ptr<Set>> next_;  ///< being built
};

}  // namespace attn::app
