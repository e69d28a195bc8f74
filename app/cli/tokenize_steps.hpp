#pragma once
/// The steps from a text to its tokens, as printed by attnscope tokenize --steps.

#include <string_view>

#include "engine/io/json.hpp"
#include "engine/tokenizer/model_tokenizer.hpp"

namespace attn::app {

/// Prints stages and words to stdout.
void print_token_steps(const ModelTokenizer& tokenizer, std::string_view text, const TokenSteps& steps);

/// Adds them to an object as "stages" and "words"; begin, middle and end of pairs and parts are byte offsets in the word.
void add_token_steps(const ModelTokenizer& tokenizer, const TokenSteps& steps, Json& line);

}  // namespace attn::app
