#pragma once
/// What transformers notes beside a tokenizer's own files, in tokenizer_config.json: only needed where those do not say it.

#include <filesystem>
#include <optional>
#include <string>

namespace attn {

struct TokenizerConfig {
    std::string tokenizer_class;  ///< "LlamaTokenizer"; may be empty
    std::string eos_token;        ///< what ends a text; may be empty
    std::optional<bool> add_bos_token, add_eos_token;
    std::optional<bool> do_lower_case, strip_accents, tokenize_chinese_chars;
};

/// Nothing when the folder has no such file. Throws FileError for one that is no JSON object; fields of other types are left out.
std::optional<TokenizerConfig> read_tokenizer_config(const std::filesystem::path& folder);

}  // namespace attn
