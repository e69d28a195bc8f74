#include "engine/tokenizer/tiktoken.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/tokenizer/bpe.hpp"
#include "engine/tokenizer/byte_alphabet.hpp"
#include "engine/tokenizer/precompiled_map.hpp"
#include "engine/tokenizer/word_splits.hpp"

namespace attn {
namespace {

/// What a published vocabulary has besides ranks.
struct KnownRanks {
    std::size_t ranks;
    std::string_view split;  ///< a name that find_word_split() knows
    void (*add_special)(std::vector<AddedToken>&);
    std::int32_t begin = -1;  ///< id of the token before every text; -1: none
};

void add_token(std::vector<AddedToken>& tokens, std::int32_t id, std::string_view content) {
    tokens.push_back({.id = id, .content = std::string(content), .special = true});
}

void add_llama3(std::vector<AddedToken>& tokens) {
    constexpr std::int32_t kFirst = 128'000, kCount = 256;
    int reserved = 0;
    for (std::int32_t i = 0; i < kCount; ++i) {
        constexpr std::array<std::pair<std::int32_t, std::string_view>, 5> kNamed = {
            {{0, "<|begin_of_text|>"}, {1, "<|end_of_text|>"}, {6, "<|start_header_id|>"}, {7, "<|end_header_id|>"}, {9, "<|eot_id|>"}}};
        const auto named = std::find_if(kNamed.begin(), kNamed.end(), [&](const auto& token) { return token.first == i; });
        add_token(tokens, kFirst + i,
                  named != kNamed.end() ? std::string(named->second) : fmt::format("<|reserved_special_token_{}|>", reserved++));
    }
}

void add_qwen(std::vector<AddedToken>& tokens) {
    constexpr std::int32_t kFirst = 151'643, kExtra = 205;
    add_token(tokens, kFirst, "<|endoftext|>");
    add_token(tokens, kFirst + 1, "<|im_start|>");
    add_token(tokens, kFirst + 2, "<|im_end|>");
    for (std::int32_t i = 0; i < kExtra; ++i) add_token(tokens, kFirst + 3 + i, fmt::format("<|extra_{}|>", i));
}

void add_gpt4(std::vector<AddedToken>& tokens) {
    add_token(tokens, 100'257, "<|endoftext|>");
    add_token(tokens, 100'258, "<|fim_prefix|>");
    add_token(tokens, 100'259, "<|fim_middle|>");
    add_token(tokens, 100'260, "<|fim_suffix|>");
    add_token(tokens, 100'276, "<|endofprompt|>");
}

void add_gpt4o(std::vector<AddedToken>& tokens) {
    add_token(tokens, 199'999, "<|endoftext|>");
    add_token(tokens, 200'018, "<|endofprompt|>");
}

void add_end_of_text(std::vector<AddedToken>& tokens) { add_token(tokens, 50'256, "<|endoftext|>"); }

constexpr std::array<KnownRanks, 6> kKnownRanks = {{{50'256, "gpt-2", add_end_of_text},
                                                    {50'280, "gpt-2", add_end_of_text},
                                                    {100'256, "dbrx", add_gpt4},
                                                    {128'000, "llama3", add_llama3, 128'000},
                                                    {151'643, "qwen2", add_qwen},
                                                    {199'998, "gpt-4o", add_gpt4o}}};

/// Calls use(token in byte letters, rank, line number) for every line.
template <class Use>
void each_rank(std::string_view text, std::string_view source, Use&& use) {
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty()) continue;
        const std::size_t space = line.find(' ');
        std::int64_t rank = -1;
        bool good = space != std::string_view::npos && space > 0;
        if (good) {
            const auto [stop, error] = std::from_chars(line.data() + space + 1, line.data() + line.size(), rank);
            good = error == std::errc() && stop == line.data() + line.size() && rank >= 0;
        }
        const std::optional<std::string> bytes = good ? from_base64(line.substr(0, space)) : std::nullopt;
        if (!bytes || bytes->empty())
            throw FileError(FileFault::Format, source, fmt::format("line {}", number),
                            fmt::format("expected a token in Base64 and its rank, found \"{}\"", escaped(line)));
        std::string letters;
        for (const char byte : *bytes) letters += byte_letter(static_cast<unsigned char>(byte));
        use(letters, rank, number);
    }
}

Vocabulary read_ranks(std::string_view text, std::string_view source) {
    Vocabulary vocabulary;
    each_rank(text, source, [&](const std::string& letters, std::int64_t rank, std::size_t line) {
        const auto refuse = [&](FileFault fault, std::string_view why) {
            throw FileError(fault, source, fmt::format("line {}", line), why);
        };
        if (vocabulary.find(letters)) refuse(FileFault::Duplicate, fmt::format("the token \"{}\" is given twice", escaped(letters)));
        try {
            vocabulary.add(letters, rank);
        } catch (const ConfigError& error) {
            refuse(FileFault::Schema, error.what());
        }
    });
    for (unsigned byte = 0; byte < 256; ++byte)
        if (!vocabulary.find(byte_letter(static_cast<unsigned char>(byte))))
            throw FileError(FileFault::Schema, source, "",
                            fmt::format("the byte 0x{:02X} has no rank: neither a SentencePiece model nor a complete tiktoken file", byte));
    return vocabulary;
}

}  // namespace

TokenizerParts parse_tiktoken(std::string_view text, std::string_view source) {
    Vocabulary vocabulary = read_ranks(text, source);
    std::vector<std::optional<std::int32_t>> ranks;
    std::size_t count = 0;
    for (std::int64_t id = 0; id < vocabulary.size(); ++id) {
        const bool used = vocabulary.text(id) != nullptr;
        ranks.push_back(used ? std::optional(static_cast<std::int32_t>(id)) : std::nullopt);
        count += used;
    }
    TokenizerParts parts;
    const auto known = std::find_if(kKnownRanks.begin(), kKnownRanks.end(), [&](const KnownRanks& one) { return one.ranks == count; });
    const bool found = known != kKnownRanks.end();
    if (found) known->add_special(parts.added_tokens);
    else
        parts.notes.push_back(fmt::format(
            "No published vocabulary has {} ranks: text is split into words as in Llama 3, and there are no special tokens.", count));
    WordSplit split = found ? *find_word_split(known->split) : split_by(kLlama3Split);
    if (found && known->begin >= 0) parts.post_processors = {begin_and_end(known->begin, std::nullopt)};
    parts.normalizers = std::move(split.normalizers);
    parts.pre_tokenizers = std::move(split.pre_tokenizers);
    parts.decoders = {byte_level_decoder()};
    BpeOptions options;
    options.whole_words_first = true;
    try {
        const std::vector<BpeJoin> joins = joins_of_pieces(vocabulary, ranks);
        parts.model = std::make_unique<Bpe>(std::move(vocabulary), joins, options);
    } catch (const ConfigError& error) {
        throw FileError(FileFault::Schema, source, "", error.what());
    }
    return parts;
}

}  // namespace attn
