#pragma once
/// Texts in lower case.

#include <string>
#include <string_view>

namespace attn {

/// Character by character, by the simple case mapping; bytes that are no characters stay.
std::string in_lower_case(std::string_view text);

}  // namespace attn
