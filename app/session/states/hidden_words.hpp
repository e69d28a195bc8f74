#pragma once
/// Hiding the words of a text for a model that fills them in.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn::app {

struct Setup;
struct Token;

/// What stands for a hidden word in the model's texts, as it is typed; "" where nothing does.
std::string mask_word(const Setup& setup);

/// [B,T], as long as the longest of the `texts`: 1 where a token is shown, 0 where it is hidden or padding.
std::vector<std::uint8_t> shown_positions(const Setup& setup, std::span<const std::vector<Token>> texts);

/// A word of a text, bytes begin..end, without the punctuation around it.
struct TextWord {
    std::size_t begin = 0, end = 0;
    bool hidden = false;  ///< it is the mask
    bool operator==(const TextWord&) const = default;
};

/// In their order; what is neither white space nor ASCII punctuation makes up words. `mask` is not empty.
std::vector<TextWord> words_of(std::string_view text, std::string_view mask);

/// The text with `mask` in a word's place.
std::string with_hidden(std::string_view text, const TextWord& word, std::string_view mask);

/// The text with `piece`, as a model's vocabulary has it, in place of the mask number `which`, from 0. The space of " piece" is not
/// doubled, and "##piece" goes on where the word before it ends. Unchanged where there are fewer masks.
std::string with_filled_in(std::string_view text, std::string_view mask, std::size_t which, std::string_view piece);

}  // namespace attn::app
