#pragma once
/// A text's way to tokens, as attnscope tokenize --steps writes it.

#include <string_view>

#include "engine/io/json.hpp"
#include "engine/tokenizer/model_tokenizer.hpp"

namespace attn::app {

/// Stages and words on the standard output.
void print_token_steps(const ModelTokenizer& tokenizer, std::string_view text, const TokenSteps& steps);

/// The same as the members "stages" and "words" of an object: begin, middle and end of pairs and parts are bytes of the word.
void add_token_steps(const ModelTokenizer& tokenizer, const TokenSteps& steps, Json& line);

}  // namespace attn::app
