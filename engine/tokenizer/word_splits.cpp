#include "engine/tokenizer/word_splits.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace attn {
namespace {

/// Mistral's Tekken: GPT-4o's without contractions and with single digits.
constexpr std::string_view kTekkenSplit = R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
                                          R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
                                          R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kBloomSplit = R"( ?[^(\s|[.,!?…。，、।۔،])]+)";

WordSplit digits_first() {
    WordSplit split;
    split.pre_tokenizers = {split_isolated(R"(\p{N})"), byte_level(false, true)};
    return split;
}

/// llama.cpp's default split: `signs`, GPT-2's split, then groups of three digits.
WordSplit in_threes(std::string_view signs) {
    WordSplit split;
    split.pre_tokenizers = {split_isolated(signs), split_isolated(kGpt2Split), split_isolated(R"(\p{N}+)"),
                            split_isolated("[0-9][0-9][0-9]"), byte_level(false, false)};
    return split;
}

WordSplit llama3() {
    WordSplit split = split_by(kLlama3Split);
    split.whole_words_first = split.begins = true;
    return split;
}

WordSplit qwen2() {
    WordSplit split = split_by(kQwen2Split);
    split.normalizers = {nfc()};
    return split;
}

WordSplit tekken() {
    WordSplit split = split_by(kTekkenSplit);
    split.whole_words_first = split.begins = true;
    return split;
}

struct NamedSplit {
    std::string_view name;
    WordSplit (*make)();
};

WordSplit gpt2() { return split_by(kGpt2Split); }

constexpr std::array kNamedSplits = std::to_array<NamedSplit>({
    {"gpt-2", gpt2},
    {"phi-2", gpt2},
    {"mpt", gpt2},
    {"olmo", gpt2},
    {"roberta-bpe", gpt2},
    {"jina-v2-es", gpt2},
    {"jina-v2-de", gpt2},
    {"llama-bpe", llama3},
    {"llama3", llama3},
    {"llama-v3", llama3},
    {"dbrx", [] { return split_by(kLlama3Split); }},
    {"smaug-bpe", [] { return split_by(kLlama3Split); }},
    {"qwen2", qwen2},
    {"deepseek-r1-qwen", qwen2},
    {"stablelm2", qwen2},
    {"gpt-4o", [] { return split_by(kGpt4oSplit); }},
    {"tekken", tekken},
    {"starcoder", digits_first},
    {"refact", digits_first},
    {"smollm", digits_first},
    {"command-r", digits_first},
    {"codeshell", digits_first},
    {"bloom", [] { return split_by(kBloomSplit); }},
    {"falcon", [] { return in_threes(R"([\p{P}\$\+<=>\^~\|`]+)"); }},
    {"default", [] { return in_threes(R"([\p{P}\$\+<=>\^~\|]+)"); }},
});

}  // namespace

WordSplit split_by(std::string_view pattern) {
    WordSplit split;
    split.pre_tokenizers = {split_isolated(pattern), byte_level(false, false)};
    return split;
}

std::optional<WordSplit> find_word_split(std::string_view name) {
    for (const NamedSplit& split : kNamedSplits)
        if (split.name == name) return split.make();
    return std::nullopt;
}

std::string word_split_names() {
    std::string names;
    for (const NamedSplit& split : kNamedSplits) names += (names.empty() ? "" : ", ") + std::string(split.name);
    return names;
}

}  // namespace attn
