#include "engine/tokenizer/word_models.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/io/file_error.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tokenizer/component_json.hpp"

namespace attn {
namespace {

std::int32_t unknown_in(const Vocabulary& vocabulary, const std::string& unknown) {
    const std::optional<std::int32_t> id = vocabulary.find(unknown);
    if (!id) throw ConfigError(fmt::format("the unknown token \"{}\" is not in the vocabulary", escaped(unknown)));
    return *id;
}

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }

}  // namespace

WordLevel::WordLevel(Vocabulary vocabulary, const std::string& unknown)
    : TokenModel(std::move(vocabulary)), unknown_(vocabulary_.find(unknown)) {}

void WordLevel::encode(std::string_view word, std::vector<WordToken>& out) const {
    const std::optional<std::int32_t> id = vocabulary_.find(word);
    if (!id && !unknown_) refuse_unknown(word);
    out.push_back({id ? *id : *unknown_, 0, static_cast<std::uint32_t>(word.size())});
}

WordTrace WordLevel::trace(std::string_view word) const {
    WordTrace trace;
    encode(word, trace.tokens);
    trace.look_ups.push_back({0, static_cast<std::uint32_t>(word.size()), vocabulary_.find(word).has_value()});
    return trace;
}

WordPiece::WordPiece(Vocabulary vocabulary, const std::string& unknown, std::string prefix, std::int64_t max_characters)
    : TokenModel(std::move(vocabulary)), unknown_(unknown_in(vocabulary_, unknown)), prefix_(std::move(prefix)),
      max_characters_(max_characters) {}

template <class LookedUp>
void WordPiece::spell(std::string_view word, std::vector<WordToken>& out, LookedUp&& looked_up) const {
    const std::size_t before = out.size();
    const auto give_up = [&] {
        out.resize(before);
        out.push_back({unknown_, 0, static_cast<std::uint32_t>(word.size())});
    };
    if (std::count_if(word.begin(), word.end(), begins_character) > max_characters_) return give_up();
    for (std::size_t begin = 0; begin < word.size();) {
        std::size_t end = word.size();
        std::optional<std::int32_t> id;
        for (; end > begin; --end) {
            if (end < word.size() && !begins_character(word[end])) continue;
            const std::string_view part = word.substr(begin, end - begin);
            id = begin == 0 ? vocabulary_.find(part) : vocabulary_.find(prefix_ + std::string(part));
            looked_up(begin, end, id.has_value());
            if (id) break;
        }
        if (!id) return give_up();
        out.push_back({*id, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
        begin = end;
    }
}

void WordPiece::encode(std::string_view word, std::vector<WordToken>& out) const {
    spell(word, out, [](std::size_t, std::size_t, bool) {});
}

WordTrace WordPiece::trace(std::string_view word) const {
    WordTrace trace;
    spell(word, trace.tokens, [&](std::size_t begin, std::size_t end, bool found) {
        trace.look_ups.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), found});
    });
    return trace;
}

std::unique_ptr<TokenModel> read_word_level(JsonObject& json) {
    const std::string unknown = required_text(json, "unk_token");
    Vocabulary vocabulary = read_vocabulary(json, "vocab");
    return std::make_unique<WordLevel>(std::move(vocabulary), unknown);
}

std::unique_ptr<TokenModel> read_word_piece(JsonObject& json) {
    const std::string unknown = required_text(json, "unk_token");
    std::string prefix = "##";
    json.read("continuing_subword_prefix", prefix);
    std::int64_t max_characters = 100;
    json.read("max_input_chars_per_word", max_characters, 1, 10'000);
    Vocabulary vocabulary = read_vocabulary(json, "vocab");
    return at_field(json, "unk_token", [&] { return std::make_unique<WordPiece>(std::move(vocabulary), unknown, prefix, max_characters); });
}

}  // namespace attn
