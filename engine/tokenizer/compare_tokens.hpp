#pragma once
/// Where two tokenizations of the same text first differ.

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

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

/// The pairs of equal tokens before the first difference, as indices into the encodings.
std::vector<std::pair<std::size_t, std::size_t>> equal_tokens(std::string_view text, const Encoding& a, const Encoding& b);

/// Whether two tokens, given by ModelTokenizer::token_bytes(), are spelled alike, apart from white space at their ends and WordPiece's mark
/// of a piece within a word. Tokens may cover the same characters and not be, if one tokenizer writes everything in lower case.
bool spelled_alike(std::string_view a, std::string_view b);

}  // namespace attn
