#pragma once
/// Text as code points.

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

namespace attn::app {

/// The code points of a text; invalid UTF-8 is skipped.
std::u32string letters_of(std::string_view text);
/// Whether a text contains right-to-left script.
bool has_right_to_left(std::string_view text);

/// The letters that the current ImGui context was asked to show but has no glyph for, so that a font can be found for them. Once noted they
/// stay, or the fonts found for them would be given up again.
class LackingLetters {
public:
    /// The fonts of so many letters still fit into a texture.
    static constexpr std::size_t kMost = 2000;
    /// Makes the current context note its letters here.
    LackingLetters();
    LackingLetters(const LackingLetters&) = delete;
    LackingLetters& operator=(const LackingLetters&) = delete;
    const std::set<char32_t>& noted() const { return noted_; }

private:
    friend void note_lacking_letter(char32_t letter);
    std::set<char32_t> noted_;
};
/// Does nothing if the current context has no LackingLetters.
void note_lacking_letter(char32_t letter);

}  // namespace attn::app
