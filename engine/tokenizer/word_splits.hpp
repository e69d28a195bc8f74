#pragma once
/// Ways of cutting a text into words that published models have names for, in files that do not spell them out.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer/normalizer.hpp"
#include "engine/tokenizer/pre_tokenizer.hpp"

namespace attn {

/// Llama 3's split, which is that of GPT-4 (cl100k_base) too: any contractions, runs of letters with one sign before, up to three digits.
inline constexpr std::string_view kLlama3Split =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
/// The same with every digit alone.
inline constexpr std::string_view kQwen2Split =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
/// GPT-4o's (o200k_base): words begin at capitals.
inline constexpr std::string_view kGpt4oSplit =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// How a byte-level model cuts.
struct WordSplit {
    std::vector<Normalizer> normalizers;
    std::vector<PreTokenizer> pre_tokenizers;  ///< the last one writes bytes as letters
    bool whole_words_first = false;            ///< BpeOptions
    bool begins = false;                       ///< a begin token before every text, unless the file says otherwise
};

/// Splits by `pattern`, then every byte as its letter.
WordSplit split_by(std::string_view pattern);

/// By the names that GGUF files have under tokenizer.ggml.pre ("gpt-2", "llama-bpe", "qwen2", ...); nothing for another name.
std::optional<WordSplit> find_word_split(std::string_view name);
/// "gpt-2, llama-bpe, ..."
std::string word_split_names();

}  // namespace attn
