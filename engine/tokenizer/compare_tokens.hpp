#pragma once
/// Two tokenizers on one text: where their pieces first differ.

#include <cstddef>
#include <optional>
#include <string_view>

#include "engine/tokenizer/encoding.hpp"

namespace attn {

/// The first piece of each that has no equal among the other's; the place behind its last one where the pieces have come to an end.
struct TokenDifference {
    std::size_t a = 0, b = 0;              ///< places in the encodings
    std::size_t begin = 0;                 ///< byte of the text at which it begins
    std::size_t end = 0;                   ///< up to which both have pieces that end together again, or the text's end
    std::size_t count_a = 0, count_b = 0;  ///< pieces of each in begin..end
};

/// Pieces are equal when they stand for the same signs: white space at their ends, which some tokenizers keep and some drop, is not
/// counted, nor are pieces of nothing else and what a template adds. Nothing where the two cut the text alike.
std::optional<TokenDifference> first_difference(std::string_view text, const Encoding& a, const Encoding& b);

}  // namespace attn
