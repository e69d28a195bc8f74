#pragma once
/// Makes arbitrary text editable in ImGui's text fields.

#include <string>
#include <string_view>
#include <vector>

namespace attn::app {

/// Replaces what a field would lose with stand-ins. Fields store 16 bits per character and drop control characters and invalid UTF-8, so
/// that even untouched emoji would disappear. A line break stands as ↵ and a tab as ⇥; the other stand-ins are private characters.
class FieldText {
public:
    /// The text with stand-ins for everything that a field would change.
    std::string to_field(std::string_view text);
    /// Restores the original characters: from_field(to_field(text)) == text.
    std::string from_field(std::string_view text) const;

private:
    std::string stand_in(std::string_view original);

    std::vector<std::string> originals_;  ///< for U+E000, U+E001, ...
};

}  // namespace attn::app
