#include "engine/tokenizer/model_tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tokenizer/byte_alphabet.hpp"
#include "engine/tokenizer/character_class.hpp"

namespace attn {
namespace {

bool is_space(char32_t c) {
    static const char32_t kSpaceLetter = first_utf8(byte_letter(' ')).code_point;
    return c == kSpaceLetter || is_white_space(c);
}

/// Counts the white space at both ends of a token's text.
void count_spaces(std::string_view text, EncodedToken& token) {
    bool only_spaces = true;
    each_character(text, [&](char32_t c, std::size_t, std::size_t) {
        const bool space = is_space(c);
        only_spaces = only_spaces && space;
        token.spaces_before += only_spaces;
        token.spaces_after = space ? token.spaces_after + 1 : 0;
    });
}

/// A text as one piece. Throws ConfigError if it is too long for any tokenizer.
PieceList typed(std::string_view text) {
    PieceList list{AlignedText::of(text), {}, {}};
    list.pieces.push_back({0, list.content.text.size(), true, -1});
    return list;
}

/// Normalizes every text piece separately.
PieceList normalized_pieces(const Normalizer& step, const PieceList& list) {
    PieceList next;
    next.work = list.work;
    next.content.text.reserve(list.content.text.size());
    next.content.origins.reserve(list.content.text.size());
    for (const Piece& piece : list.pieces) {
        AlignedText part;
        part.append(list.content, piece.begin, piece.end);
        if (piece.is_text()) part = step.apply(part, next.work);
        const std::size_t begin = next.content.text.size();
        next.content.append(part, 0, part.text.size());
        next.pieces.push_back({begin, next.content.text.size(), piece.at_start, piece.token});
    }
    return next;
}

void check_ids(const TokenizerParts& parts) {
    const Vocabulary& vocabulary = parts.model->vocabulary();
    std::unordered_map<std::int32_t, std::string_view> added;
    const auto refuse = [](std::string_view content, std::int32_t id, std::string_view why) {
        throw ConfigError(fmt::format("the added token \"{}\" has the id {}, {}", escaped(content), id, why));
    };
    for (const AddedToken& token : parts.added_tokens) {
        const auto [place, fresh] = added.emplace(token.id, token.content);
        if (!fresh && place->second != token.content)
            refuse(token.content, token.id, fmt::format("which \"{}\" has, too", escaped(place->second)));
        if (const auto id = vocabulary.find(token.content); id && *id != token.id)
            refuse(token.content, token.id, fmt::format("but has {} in the vocabulary", *id));
        if (const std::string* text = vocabulary.text(token.id); text != nullptr && *text != token.content)
            refuse(token.content, token.id, fmt::format("which belongs to \"{}\" in the vocabulary", escaped(*text)));
    }
}

}  // namespace

ModelTokenizer::ModelTokenizer(TokenizerParts parts) : parts_(std::move(parts)), added_(parts_.added_tokens, parts_.normalizers) {
    check_ids(parts_);
    const auto has = [](const auto& steps, std::initializer_list<std::string_view> types) {
        return std::any_of(steps.begin(), steps.end(),
                           [&](const auto& step) { return std::find(types.begin(), types.end(), step.type) != types.end(); });
    };
    byte_letters_ = has(parts_.pre_tokenizers, {"ByteLevel"}) || has(parts_.normalizers, {"ByteLevel"});
    byte_names_ = has(parts_.decoders, {"ByteFallback"});
    space_marks_ = !byte_letters_ && (has(parts_.pre_tokenizers, {"Metaspace"}) || has(parts_.decoders, {"Metaspace"}) || byte_names_);
}

Encoding ModelTokenizer::encode(std::string_view text, bool special) const { return finish({{encode_plain(text), text}}, special); }

std::vector<EncodedPart> ModelTokenizer::pair_of(std::string_view first, std::string_view second, std::vector<std::string>* first_texts,
                                                 std::vector<std::string>* second_texts) const {
    std::vector<EncodedPart> parts{{encode_plain(first, first_texts), first}, {encode_plain(second, second_texts), second}};
    for (EncodedToken& token : parts[1].tokens) {
        token.type = 1;
        token.of_second = true;
    }
    return parts;
}

Encoding ModelTokenizer::encode_pair(std::string_view first, std::string_view second, bool special) const {
    return finish(pair_of(first, second, nullptr, nullptr), special);
}

Encoding ModelTokenizer::encode_pair(std::string_view first, std::string_view second, bool special, std::vector<std::string>& texts) const {
    std::vector<std::string> of_first, of_second;
    Encoding encoding = finish(pair_of(first, second, &of_first, &of_second), special);
    texts = texts_of(encoding, std::move(of_first), std::move(of_second));
    return encoding;
}

std::optional<std::int32_t> ModelTokenizer::separator() const {
    const Encoding pair = encode_pair("", "");
    const auto second = std::find_if(pair.begin(), pair.end(), [](const EncodedToken& token) { return token.type > 0; });
    if (second == pair.begin() || second == pair.end()) return std::nullopt;
    return (second - 1)->id;
}

Encoding ModelTokenizer::finish(std::vector<EncodedPart> parts, bool special) const {
    for (const PostProcessor& step : parts_.post_processors) parts = step.apply(std::move(parts), special);
    Encoding out;
    for (const EncodedPart& part : parts) out.insert(out.end(), part.tokens.begin(), part.tokens.end());
    return out;
}

template <class Part>
auto ModelTokenizer::naming_file(Part&& part) const {
    try {
        return part();
    } catch (const ConfigError& error) {
        if (parts_.source.empty()) throw;
        throw ConfigError(fmt::format("{}: {}", parts_.source, error.what()));
    }
}

template <class Seen>
PieceList ModelTokenizer::words_of(PieceList list, Seen&& seen) const {
    using Kind = TextStage::Kind;
    const std::vector<Origin>& origins = list.content.origins;
    const std::size_t bytes = origins.empty() ? 0 : origins.back().end;
    seen(Kind::Typed, "", list);
    added_.cut(list, false);
    if (added_.any(false)) seen(Kind::AddedTokens, "", list);
    for (const Normalizer& step : parts_.normalizers) {
        list = normalized_pieces(step, list);
        expect_no_flood(list.content.text.size(), bytes);
        seen(Kind::Normalizer, step.type, list);
    }
    added_.cut(list, true);
    if (added_.any(true)) seen(Kind::AddedTokens, "", list);
    for (const PreTokenizer& step : parts_.pre_tokenizers) {
        step.apply(list);
        seen(Kind::PreTokenizer, step.type, list);
    }
    return list;
}

Encoding ModelTokenizer::encode_plain(std::string_view text, std::vector<std::string>* texts) const {
    PieceList list = typed(text);
    return naming_file([&] {
        Encoding out;
        append_words(words_of(std::move(list), [](TextStage::Kind, std::string_view, const PieceList&) {}), out, texts);
        return out;
    });
}

std::vector<std::string> ModelTokenizer::texts_of(const Encoding& encoding, std::vector<std::string> of_first,
                                                  std::vector<std::string> of_second) const {
    std::vector<std::string> texts;
    std::size_t next_of_first = 0, next_of_second = 0;
    for (const EncodedToken& token : encoding) {
        std::vector<std::string>& plain = token.of_second ? of_second : of_first;
        std::size_t& next = token.of_second ? next_of_second : next_of_first;
        texts.push_back(token.from_template || next == plain.size() ? token_text(token.id).value_or("") : std::move(plain[next++]));
    }
    return texts;
}

Encoding ModelTokenizer::encode(std::string_view text, bool special, std::vector<std::string>& texts) const {
    std::vector<std::string> plain;
    Encoding encoding = finish({{encode_plain(text, &plain), text}}, special);
    texts = texts_of(encoding, std::move(plain), {});
    return encoding;
}

TokenSteps ModelTokenizer::steps(std::string_view text, bool special) const {
    if (text.size() > kMaxStepsBytes)
        throw ConfigError(fmt::format("a text of {} bytes is too long to be followed step by step; at most {} are accepted", text.size(),
                                      kMaxStepsBytes));
    TokenSteps steps;
    naming_file([&] {
        const PieceList list = words_of(typed(text), [&](TextStage::Kind kind, std::string_view name, const PieceList& now) {
            steps.stages.push_back({kind, std::string(name), now});
        });
        for (const Piece& piece : list.pieces) {
            if (piece.begin == piece.end) continue;
            TokenSteps::Word& word = steps.words.emplace_back(TokenSteps::Word{piece, {}});
            if (piece.is_text()) word.trace = parts_.model->trace(list.text_of(piece));
        }
    });
    steps.tokens = encode(text, special);
    return steps;
}

void ModelTokenizer::append_words(const PieceList& list, Encoding& out, std::vector<std::string>* texts) const {
    const std::vector<Origin>& origins = list.content.origins;
    const bool unigram = std::string_view(model_type()) == "Unigram";
    const auto add = [&](std::int32_t id, std::size_t begin, std::size_t end, std::string_view text) {
        EncodedToken& token = out.emplace_back(EncodedToken{.id = id, .begin = origins[begin].begin, .end = origins[end - 1].end});
        count_spaces(text, token);
        if (texts == nullptr) return;
        if (unigram && id == unknown_id()) text = std::string_view(list.content.text).substr(begin, end - begin);
        texts->emplace_back(text);
    };
    // Texts repeat words, so the tokens of a word are computed only once.
    constexpr std::size_t kLongestKept = 256;
    std::unordered_map<std::string_view, std::pair<std::size_t, std::size_t>> known;
    std::vector<WordToken> tokens;
    for (const Piece& piece : list.pieces) {
        if (piece.end == piece.begin) continue;
        const std::string_view word = list.text_of(piece);
        if (!piece.is_text()) {
            add(piece.token, piece.begin, piece.end, word);
            continue;
        }
        const auto [place, fresh] = known.try_emplace(word.size() > kLongestKept ? std::string_view() : word);
        if (fresh || word.size() > kLongestKept) {
            const std::size_t begin = tokens.size();
            parts_.model->encode(word, tokens);
            place->second = {begin, tokens.size()};
        }
        for (std::size_t i = place->second.first; i < place->second.second; ++i)
            add(tokens[i].id, piece.begin + tokens[i].begin, piece.begin + tokens[i].end, *parts_.model->vocabulary().text(tokens[i].id));
    }
}

std::string ModelTokenizer::decode(std::span<const std::int32_t> ids, bool skip_special) const {
    std::vector<std::string> texts;
    for (const std::int32_t id : ids) {
        const AddedToken* added = added_.find(id);
        if (added != nullptr && added->special && skip_special) continue;
        if (std::optional<std::string> text = token_text(id)) texts.push_back(std::move(*text));
    }
    const bool joined = !parts_.decoders.empty();
    naming_file([&] {
        for (const Decoder& step : parts_.decoders) texts = step.apply(std::move(texts));
    });
    std::string out;
    for (const std::string& text : texts) {
        if (!joined && !out.empty()) out += ' ';
        out += text;
    }
    return out;
}

std::int64_t ModelTokenizer::size() const {
    std::int64_t size = parts_.model->vocabulary().size();
    for (const AddedToken& token : added_.all()) size = std::max<std::int64_t>(size, token.id + std::int64_t{1});
    return size;
}

std::string ModelTokenizer::token_bytes(std::int64_t id) const {
    std::string text = token_text(id).value_or("");
    if (added_.find(id) != nullptr) return text;
    if (byte_letters_) return bytes_of_letters(text).value_or(text);
    if (const int byte = byte_names_ ? named_byte(text) : -1; byte >= 0) return std::string(1, static_cast<char>(byte));
    constexpr std::string_view kMark = "\u2581";
    if (space_marks_)
        for (std::size_t at = 0; (at = text.find(kMark, at)) != std::string::npos; ++at) text.replace(at, kMark.size(), " ");
    return text;
}

std::optional<std::string> ModelTokenizer::token_text(std::int64_t id) const {
    if (const AddedToken* added = added_.find(id)) return added->content;
    if (const std::string* text = parts_.model->vocabulary().text(id)) return *text;
    return std::nullopt;
}

}  // namespace attn
