#pragma once
/// Hides words of a text so that a masked language model can fill them in.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn::app {

struct Token;

/// [B,T], as long as the longest of the `texts`: 1 where a token is shown, 0 where it is hidden by `mask` or padding.
std::vector<std::uint8_t> shown_positions(std::string_view mask, std::span<const std::vector<Token>> texts);

/// A word of a text: bytes [begin, end), without surrounding punctuation.
struct TextWord {
    std::size_t begin = 0, end = 0;
    bool hidden = false;   ///< the word is the mask token
    bool special = false;  ///< the word is another special token
    bool operator==(const TextWord&) const = default;
};

/// White space of one byte.
bool is_space_byte(char c);
/// The words of the text in order. A word is a special token, or a run of characters that are neither white space nor ASCII punctuation.
/// `mask` must not be empty.
std::vector<TextWord> words_of(std::string_view text, std::string_view mask, std::span<const std::string> specials = {});

/// The text with `word` replaced by `mask`.
std::string with_hidden(std::string_view text, const TextWord& word, std::string_view mask);

/// The text with mask number `which` (from 0) replaced by `piece`, spelled as in the model's vocabulary. The space of " piece" is not
/// doubled, and "##piece" is joined to the word before it. Unchanged if there is no such mask.
std::string with_filled_in(std::string_view text, std::string_view mask, std::size_t which, std::string_view piece);

}  // namespace attn::app
