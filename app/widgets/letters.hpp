#pragma once
/// The characters of texts, by their numbers.

#include <string>
#include <string_view>

namespace attn::app {

/// The characters of a text; what is no UTF-8 is left out.
std::u32string letters_of(std::string_view text);
/// Some of it is written from right to left.
bool has_right_to_left(std::string_view text);

}  // namespace attn::app
