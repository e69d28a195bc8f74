#pragma once
/// A tokenizer for a model that came without one, where the texts of its ids are known.

#include <span>
#include <string>
#include <string_view>

namespace attn {

/// tokenizer.json that reads `words`, the text of every id ("" where it is not known; one can then type the id as "<7>"). Where every word
/// is one character, a text is split into characters, otherwise at white space; words such as "<eos>" or "[SEP]" are found in either.
/// Returns
/// "" if no word is known, or if a text could not be read: two ids have the same word, a word contains the white space that separates it
/// from the next, or is no valid UTF-8.
std::string tokenizer_json_of(std::span<const std::string> words);

/// Such as "<eos>" or "[SEP]", which stand for no text.
bool is_bracketed(std::string_view word);

}  // namespace attn
