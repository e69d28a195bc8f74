#pragma once
/// What is known about a piece: where it is in the typed text, and how the tokenizer arrived at it.

#include <cstdint>
#include <string>
#include <string_view>

#include "app/session/values/token_path.hpp"
#include "engine/tokenizer/model_tokenizer.hpp"

namespace attn::app {

/// Part of a word in readable form: byte-level letters are decoded.
std::string without_byte_letters(std::string_view text, bool letters);

/// A token and the word it was made from.
struct TokenOfWord {
    const EncodedToken& token;
    const TokenSteps::Word& word;
    std::string_view text;  ///< of the word, after the last stage
    std::size_t place = 0;  ///< in word.trace.tokens
    bool letters = false;   ///< the text writes bytes as byte-level letters
};

/// For a token of the template. Columns, word and count are left to the caller, here and below.
TokenPath::Piece piece_of_template(const ModelTokenizer& tokenizer, std::int32_t id);
/// For an added token in the typed text.
TokenPath::Piece piece_of_added(const ModelTokenizer& tokenizer, std::string_view typed, const EncodedToken& token);
/// For a token made from a word.
TokenPath::Piece piece_of_word(const ModelTokenizer& tokenizer, std::string_view typed, const TokenOfWord& made);

}  // namespace attn::app
