#pragma once
/// Where two tokenizations of the same text first differ.

#include <cstddef>
#include <optional>
#include <string_view>

#include "engine/tokenizer/encoding.hpp"

namespace attn {

/// The first tokens without an equal counterpart in the other encoding; one past the end where an encoding has no more.
struct TokenDifference {
    std::size_t a = 0, b = 0;              ///< indices into the encodings
    std::size_t begin = 0;                 ///< first byte of the difference
    std::size_t end = 0;                   ///< where both have tokens that end together again, or the text's end
    std::size_t count_a = 0, count_b = 0;  ///< number of tokens of each in [begin, end)
};

/// Tokens are equal if they cover the same characters. White space at their ends is ignored, because some tokenizers keep it and others
/// drop it, and so are tokens of nothing but white space and tokens added by a template. nullopt if the two agree.
std::optional<TokenDifference> first_difference(std::string_view text, const Encoding& a, const Encoding& b);

}  // namespace attn
