#pragma once
/// Text as ImGui's fields can hold it.

#include <string>
#include <string_view>
#include <vector>

namespace attn::app {

/// Stand-ins for what a field would lose: it keeps 16 bits of a character, and neither bytes that are not UTF-8 nor zeros, so that an
/// emoji that is only passed by would be gone.
class FieldText {
public:
    /// The text with a character of the private use area in place of everything that a field would change.
    std::string to_field(std::string_view text);
    /// What stands for what again: from_field(to_field(text)) is the text.
    std::string from_field(std::string_view text) const;

private:
    std::string stand_in(std::string_view original);

    std::vector<std::string> originals_;  ///< of U+E000, U+E001, ...
};

}  // namespace attn::app
