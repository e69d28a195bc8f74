#include "app/platform/font_sets.hpp"

#include <imgui.h>

#include <chrono>
#include <utility>

#include "app/platform/fonts.hpp"
#include "app/render/gl_objects.hpp"
// Must follow glad, which declares OpenGL.
#include "app/platform/imgui_compat.hpp"

namespace attn::app {

struct FontSets::Set {
    Set(float wanted, LetterSet with)
        : scale(wanted), letters(std::move(with)), more(read_system_fonts(letters)), fonts(add_fonts(atlas, wanted, more)) {
        imgui_compat::rasterise(atlas);
    }

    float scale;
    LetterSet letters;           ///< in addition to those of the embedded fonts
    std::vector<ReadFont> more;  ///< the system fonts that contain them
    ImFontAtlas atlas;
    Fonts fonts;
    TextureHandle texture;
};

FontSets::FontSets() : aside_(ImGui::GetIO().Fonts) {}

FontSets::~FontSets() {
    ImGui::GetIO().Fonts = aside_;
    // If drawing threw an exception, the frame is unfinished and the atlas still locked.
    for (const auto& set : sets_) set->atlas.Locked = false;
}

FontSets::Set* FontSets::find(float scale) const {
    for (const auto& set : sets_)
        if (set->scale == scale && set->letters == letters_) return set.get();
    return nullptr;
}

void FontSets::keep(std::unique_ptr<Set> set) {
    std::erase_if(sets_, [&](const auto& other) { return other.get() != used_; });
    sets_.push_back(std::move(set));
}

Fonts FontSets::use(float scale) {
    if (!imgui_compat::kAtlasIsRasterisedAtOnce) {
        aside_->Clear();
        more_ = read_system_fonts(letters_);
        return add_fonts(*aside_, scale, more_);
    }
    if (find(scale) == nullptr) keep(std::make_unique<Set>(scale, letters_));
    Set& set = *find(scale);
    if (set.texture.get() == 0) {
        const imgui_compat::AtlasPixels pixels = imgui_compat::pixels_of(set.atlas);
        set.texture = make_coverage_texture(pixels.coverage, pixels.width, pixels.height);
        imgui_compat::use_texture(set.atlas, set.texture.get());
    }
    used_ = &set;
    ImGui::GetIO().Fonts = &set.atlas;
    return set.fonts;
}

bool FontSets::at_hand(float scale) {
    if (!imgui_compat::kAtlasIsRasterisedAtOnce) return true;
    if (next_.valid() && next_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) keep(next_.get());
    if (find(scale) != nullptr) return true;
    // Until it is ready, only the worker accesses the new atlas. ImGui's only shared state here is its allocation counter, which serves a
    // debug window that is never shown.
    if (!next_.valid())
        next_ = std::async(std::launch::async, [scale, letters = letters_] { return std::make_unique<Set>(scale, letters); });
    return false;
}

}  // namespace attn::app
