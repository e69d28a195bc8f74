#pragma once
/// tiktoken files: a Base64 token and its rank per line, for byte-level BPE. https://github.com/openai/tiktoken, load.py.

#include <string>
#include <string_view>

#include "engine/tokenizer/model_tokenizer.hpp"

namespace attn {

/// The file contains neither the split pattern nor special tokens. They are taken from the published vocabulary with the same number of
/// ranks (GPT-2, GPT-4, GPT-4o, Llama 3, Qwen); for any other, Llama 3's split is used without special tokens, and a note says so. Throws
/// FileError naming the line.
TokenizerParts parse_tiktoken(std::string_view text, std::string_view source);

}  // namespace attn
