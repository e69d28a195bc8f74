#pragma once
/// Split patterns known by name, for files that do not spell them out.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer/normalizer.hpp"
#include "engine/tokenizer/pre_tokenizer.hpp"

namespace attn {

/// Llama 3's and GPT-4's (cl100k_base): contractions in any case, runs of letters with one other character before, up to three digits.
inline constexpr std::string_view kLlama3Split =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
/// The same with single digits.
inline constexpr std::string_view kQwen2Split =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
/// GPT-4o's (o200k_base): words begin at capital letters.
inline constexpr std::string_view kGpt4oSplit =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// How a byte-level model splits text into words.
struct WordSplit {
    std::vector<Normalizer> normalizers;
    std::vector<PreTokenizer> pre_tokenizers;  ///< one of them turns bytes into letters
    bool whole_words_first = false;            ///< see BpeOptions
    bool begins = false;                       ///< a begin token before every text, unless the file says otherwise
};

/// Splits with `pattern`, then turns every byte into its letter.
WordSplit split_by(std::string_view pattern);

/// By the names used in GGUF's tokenizer.ggml.pre ("gpt-2", "llama-bpe", "qwen2", ...); nullopt for an unknown name.
std::optional<WordSplit> find_word_split(std::string_view name);
/// "gpt-2, llama-bpe, ..."
std::string word_split_names();

}  // namespace attn
