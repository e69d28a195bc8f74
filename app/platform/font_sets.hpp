#pragma once
/// The product's fonts at more than one scale at a time: the window's and that of an enlarged picture.

#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "app/platform/fonts.hpp"
#include "app/widgets/theme.hpp"

struct ImFontAtlas;

namespace attn::app {

/// For the current ImGui context, whose own atlas it puts aside as long as it lives. Needs a current OpenGL context.
class FontSets {
public:
    FontSets();
    ~FontSets();
    FontSets(const FontSets&) = delete;
    FontSets& operator=(const FontSets&) = delete;

    /// The fonts at this scale, with which ImGui draws from its next frame on. Makes them first, which takes from a tenth of a second to
    /// one, unless they are at hand. Throws PlatformError if a font is damaged.
    Fonts use(float scale);
    /// From now on the fonts have these letters of the system's fonts as well. They are used from the next use() on.
    void want(LetterSet letters) { letters_ = std::move(letters); }
    /// Whether use() would return at once. If not, the fonts are being made on another thread from now on. Throws what that met.
    bool at_hand(float scale);

private:
    struct Set;
    Set* find(float scale) const;
    /// Keeps it beside the one in use; others are given up.
    void keep(std::unique_ptr<Set> set);

    ImFontAtlas* aside_;                      ///< the context's own
    std::vector<std::unique_ptr<Set>> sets_;  ///< the one in use and at most one other
    const Set* used_ = nullptr;               ///< the one in use
    LetterSet letters_;                       ///< that texts have and our own fonts lack
    std::vector<ReadFont> more_;              ///< with later versions of ImGui: what the atlas reads from
    std::future<std::unique_ptr<Set>> next_;  ///< being made
};

}  // namespace attn::app
