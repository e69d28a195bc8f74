#pragma once
/// tiktoken's files: a line of Base64 and a rank for each token of a byte-level BPE. https://github.com/openai/tiktoken, load.py.

#include <string>
#include <string_view>

#include "engine/tokenizer/model_tokenizer.hpp"

namespace attn {

/// The file has neither the way of cutting words nor the special tokens: they are taken from the published vocabulary with as many ranks
/// (GPT-2, GPT-4, GPT-4o, Llama 3, Qwen). Any other is cut as Llama 3 does, without special tokens, and a note says so.
/// Throws FileError naming the line.
TokenizerParts parse_tiktoken(std::string_view text, std::string_view source);

}  // namespace attn
