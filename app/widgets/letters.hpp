#pragma once
/// Text as code points.

#include <string>
#include <string_view>

namespace attn::app {

/// The code points of a text; invalid UTF-8 is skipped.
std::u32string letters_of(std::string_view text);
/// Whether a text contains right-to-left script.
bool has_right_to_left(std::string_view text);

}  // namespace attn::app
