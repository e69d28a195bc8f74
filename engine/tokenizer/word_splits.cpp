#include "engine/tokenizer/word_splits.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>

namespace attn {
namespace {

/// Mistral's Tekken: GPT-4o's without contractions and with single digits.
constexpr std::string_view kTekkenSplit = R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
                                          R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
                                          R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kBloomSplit = R"( ?[^(\s|[.,!?…。，、।۔،])]+)";

/// DeepSeek's Chinese characters and Korean syllables, with much in between.
constexpr std::string_view kDeepSeekWideSplit = "[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+";
/// DeepSeek LLM's words: the cased letters of Unicode 11.
constexpr std::string_view kDeepSeekWordSplit =
    "\\s?[A-Za-z\u00B5\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u01BA\u01BC-\u01BF\u01C4-\u0293\u0295-\u02AF\u0370-\u0373\u0376\u0377\u037B-\u037D"
    "\u037F\u0386\u0388-\u038A\u038C\u038E-\u03A1\u03A3-\u03F5\u03F7-\u0481\u048A-\u052F\u0531-\u0556\u10A0-\u10C5\u13A0-\u13F5\u13F8-"
    "\u13FD"
    "\u1C90-\u1CBA\u1CBD-\u1CBF\u1D00-\u1D2B\u1D6B-\u1D77\u1D79-\u1D9A\u1E00-\u1F15\u1F18-\u1F1D\u1F20-\u1F45\u1F48-\u1F4D\u1F50-"
    "\u1F57\u1F59"
    "\u1F5B\u1F5D\u1F5F-\u1F7D\u1F80-\u1FB4\u1FB6-\u1FBC\u1FBE\u1FC2-\u1FC4\u1FC6-\u1FCC\u1FD0-\u1FD3\u1FD6-\u1FDB\u1FE0-\u1FEC\u1FF2-"
    "\u1FF4"
    "\u1FF6-\u1FFC\u2102\u2107\u210A-\u2113\u2115\u2119-\u211D\u2124\u2126\u2128\u212A-\u212D\u212F-\u2134\u2139\u213C-\u213F\u2145-"
    "\u2149\u214E"
    "\u2183\u2184\u2C00-\u2C7B\u2C7E-\u2CE4\u2CEB-\u2CEE\u2CF2\u2CF3\uA640-\uA66D\uA680-\uA69B\uA722-\uA76F\uA771-\uA787\uA78B-\uA78E"
    "\uAB70-\uABBF\uFB00-\uFB06\uFB13-\uFB17\uFF21-\uFF3A\uFF41-\uFF5A\U00010400-\U0001044F\U000104B0-\U000104D3\U000104D8-\U000104FB"
    "\U00010C80-\U00010CB2\U00010CC0-\U00010CF2\U000118A0-\U000118DF\U0001E900-\U0001E943]+";
constexpr std::string_view kDeepSeekSignSplit = "\\s?[!-/:-~\uFF01-\uFF0F\uFF1A-\uFF5E\u2018-\u201F\u3000-\u3002]+";
/// Qwen2's without line breaks after signs.
constexpr std::string_view kSeedCoderSplit =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// One split after the other, then bytes to letters.
WordSplit split_by_all(std::initializer_list<std::string_view> patterns) {
    WordSplit split;
    for (const std::string_view pattern : patterns) split.pre_tokenizers.push_back(split_isolated(pattern));
    split.pre_tokenizers.push_back(byte_level(false, false));
    return split;
}

WordSplit digits_first() {
    WordSplit split;
    split.pre_tokenizers = {split_isolated(R"(\p{N})"), byte_level(false, true)};
    return split;
}

/// llama.cpp's default: signs, GPT-2's split, then groups of three digits.
WordSplit by_default() { return split_by_all({R"([\p{P}\$\+<=>\^~\|]+)", kGpt2Split, R"(\p{N}+)", "[0-9][0-9][0-9]"}); }

/// The same, but digits are told when bytes are letters already, of which some are numbers: "\u00BD" becomes "\u00C2\u00BD".
WordSplit falcon() {
    WordSplit split;
    split.pre_tokenizers = {punctuation_runs(), byte_level(false, true), digit_runs(), split_isolated("[0-9][0-9][0-9]")};
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

WordSplit deepseek_coder() { return split_by_all({"[\r\n]", R"(\s?\p{L}+)", R"(\s?\p{P}+)", kDeepSeekWideSplit, R"(\p{N})"}); }
WordSplit deepseek_llm() {
    return split_by_all({"[\r\n]", kDeepSeekWordSplit, kDeepSeekSignSplit, R"(\s+$)", kDeepSeekWideSplit, R"(\p{N})"});
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
WordSplit bloom() { return split_by(kBloomSplit); }

/// Which models share a split: ggml-org/llama.cpp, src/llama-vocab.cpp. Where its expressions only approximate those in the models'
/// tokenizer.json, the latter are used.
constexpr std::array kNamedSplits = std::to_array<NamedSplit>({
    {"gpt-2", gpt2},
    {"phi-2", gpt2},
    {"mpt", gpt2},
    {"olmo", gpt2},
    {"roberta-bpe", gpt2},
    {"jina-v2-es", gpt2},
    {"jina-v2-de", gpt2},
    {"mellum", gpt2},
    {"trillion", gpt2},
    {"a.x-4.0", gpt2},
    {"llama-bpe", llama3},
    {"llama3", llama3},
    {"llama-v3", llama3},
    {"falcon3", llama3},
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
    {"minerva-7b", digits_first},
    {"bloom", bloom},
    {"poro-chat", bloom},
    {"gpt3-finnish", bloom},
    {"viking",
     [] {
         return split_by_all({kBloomSplit, R"(\p{N})"});
     }},
    {"deepseek-coder", deepseek_coder},
    {"deepseek-llm", deepseek_llm},
    {"seed-coder", [] { return split_by(kSeedCoderSplit); }},
    {"superbpe",
     [] {
         return split_by_all({R"(\p{N}+)", R"((?=(\d{3})+(?!\d)))"});
     }},
    {"falcon", falcon},
    {"default", by_default},
});

}  // namespace

WordSplit split_by(std::string_view pattern) { return split_by_all({pattern}); }

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
