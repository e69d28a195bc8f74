#pragma once
/// transformers' tokenizer_config.json, needed only where a tokenizer's own files leave something open.

#include <filesystem>
#include <optional>
#include <string>

namespace attn {

struct TokenizerConfig {
    std::string tokenizer_class;  ///< "LlamaTokenizer"; may be empty
    std::string eos_token;        ///< the token that ends a text; may be empty
    std::optional<bool> add_bos_token, add_eos_token;
    std::optional<bool> do_lower_case, strip_accents, tokenize_chinese_chars;
};

/// nullopt if the folder has no such file. Throws FileError if it is not a JSON object; fields of unexpected types are ignored.
std::optional<TokenizerConfig> read_tokenizer_config(const std::filesystem::path& folder);

}  // namespace attn
