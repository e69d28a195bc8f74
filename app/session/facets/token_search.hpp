#pragma once
/// Searching a vocabulary for what people type.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attn::app {

/// The token with this text and the one with a space before it, as far as they exist: of several with the same text the first. Of a text
/// that begins with a space only the first; of one in double quotes only the token that is exactly what stands between them.
std::vector<std::int32_t> tokens_named(const std::vector<std::string>& vocabulary, std::string_view text);

/// At most `most` tokens that contain the text, spaces before it and capitals aside: first those that are the text, then those that begin
/// with it.
std::vector<std::int32_t> tokens_with(const std::vector<std::string>& vocabulary, std::string_view text, std::size_t most);

}  // namespace attn::app
