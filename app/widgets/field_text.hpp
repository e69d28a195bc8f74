#pragma once
/// Makes arbitrary text editable in ImGui's text fields.

#include <string>
#include <string_view>
#include <vector>

namespace attn::app {

/// Whether a typed code is one half of a character beyond 16 bits.
constexpr bool is_half(unsigned code) { return code >= 0xD800 && code <= 0xDFFF; }

/// Replaces what a field would lose with stand-ins. Fields store 16 bits per character and drop control characters and invalid UTF-8, so
/// that even untouched emoji would disappear. A line break stands as ↵ and a tab as ⇥; the other stand-ins are private characters.
class FieldText {
public:
    /// The text with stand-ins for everything that a field would change.
    std::string to_field(std::string_view text);
    /// Restores the original characters: from_field(to_field(text)) == text.
    std::string from_field(std::string_view text) const;
    /// What a field is to receive for a typed character. One beyond 16 bits arrives in the two halves of its UTF-16 form: nothing (0) for
    /// the first, its stand-in for the second.
    unsigned typed(unsigned code);

private:
    /// The code of a stand-in; U+FFFD if there are no more.
    unsigned stand_in(std::string_view original);

    std::vector<std::string> originals_;  ///< for U+E000, U+E001, ...
    unsigned first_half_ = 0;
};

}  // namespace attn::app
