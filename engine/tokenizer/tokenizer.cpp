#include "engine/tokenizer/tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "engine/io/file_error.hpp"
#include "engine/io/utf8.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tokenizer/character_class.hpp"
#include "engine/tokenizer/letter_case.hpp"
#include "engine/tokenizer/own_bpe.hpp"

namespace attn {
namespace {

constexpr std::string_view kPad = "<pad>";
constexpr std::string_view kUnknown = "<unk>";
constexpr std::string_view kPlaceBegins = "<new ";
constexpr std::int32_t kUnknownId = 1;
constexpr std::int64_t kMaxPositions = std::int64_t{1} << 26;

/// The symbol at the front of a text: its bytes, whether it is a token, and whether it is valid UTF-8.
struct Symbol {
    std::size_t bytes = 1;
    bool is_token = true;
    bool valid = true;
};

/// Letters, digits and marks of any script. Beyond ASCII, everything outside the blocks of punctuation and symbols counts as a letter; that
/// needs no Unicode table and is wrong only for rare symbols.
bool is_word(char32_t c) {
    if (c < 0x80) return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
    if (c < 0xC0) return c == 0xAA || c == 0xB5 || c == 0xBA;
    if (c == 0xD7 || c == 0xF7 || is_white_space(c)) return false;
    const bool joiner = c == 0x200C || c == 0x200D;  // used inside words of Indic scripts and Persian
    const bool general_punctuation = c >= 0x2000 && c <= 0x206F && !joiner;
    const bool symbols = (c >= 0x20A0 && c <= 0x20CF) || (c >= 0x2190 && c <= 0x2BFF) || (c >= 0x2E00 && c <= 0x2E7F);
    const bool east_asian = (c >= 0x3001 && c <= 0x3004) || (c >= 0x3008 && c <= 0x3020) || c == 0x3030 || (c >= 0xFE30 && c <= 0xFE6B) ||
                            (c >= 0xFF01 && c <= 0xFF0F) || (c >= 0xFF1A && c <= 0xFF20) || (c >= 0xFF3B && c <= 0xFF40) ||
                            (c >= 0xFF5B && c <= 0xFF65);
    const bool pictures = c >= 0x1F000 && c <= 0x1FAFF;
    return !general_punctuation && !symbols && !east_asian && !pictures;
}

bool is_apostrophe(char32_t c) { return c == '\'' || c == 0x2019; }

bool word_at(std::string_view text) {
    if (text.empty()) return false;
    const Utf8Unit unit = first_utf8(text);
    return unit.valid && is_word(unit.code_point);
}

bool is_hyphen(char32_t c) { return c == '-' || c == 0x2010 || c == 0x2011; }

/// `hyphens`: a hyphen between letters belongs to the word.
Symbol first_word(std::string_view text, bool hyphens) {
    const Utf8Unit first = first_utf8(text);
    if (!first.valid) return {1, true, false};
    if (is_white_space(first.code_point)) return {first.bytes, false, true};
    if (!is_word(first.code_point)) return {first.bytes, true, true};
    std::size_t end = first.bytes;
    while (end < text.size()) {
        const Utf8Unit unit = first_utf8(text.substr(end));
        if (!unit.valid) break;
        const bool joins = is_apostrophe(unit.code_point) || (hyphens && is_hyphen(unit.code_point));
        const bool inside = joins && word_at(text.substr(end + unit.bytes));
        if (!is_word(unit.code_point) && !inside) break;
        end += unit.bytes;
    }
    return {end, true, true};
}

Symbol first_piece(TokenizerKind kind, std::string_view text, bool hyphens = false) {
    if (kind == TokenizerKind::Word) return first_word(text, hyphens);
    if (kind == TokenizerKind::Byte) return {1, true, true};
    const Utf8Unit unit = first_utf8(text);
    return {unit.bytes, true, unit.valid};
}

void expect_length(std::string_view text) {
    if (text.size() > kMaxTextBytes)
        throw ConfigError(fmt::format("a text of {} bytes is too long; at most {} are accepted", text.size(), kMaxTextBytes));
}

/// Calls use(symbol, bytes, index of the first byte) for every token of the text.
template <class Use>
void each_token(TokenizerKind kind, std::string_view text, Use&& use, bool hyphens = false) {
    expect_length(text);
    for (std::size_t at = 0; at < text.size();) {
        const Symbol piece = first_piece(kind, text.substr(at), hyphens);
        if (piece.is_token) use(text.substr(at, piece.bytes), piece, at);
        at += piece.bytes;
    }
}

/// How many places a vocabulary ends with.
std::int64_t places_at_end(std::span<const std::string> vocabulary) {
    std::int64_t places = 0;
    while (places < static_cast<std::int64_t>(vocabulary.size()) && vocabulary[vocabulary.size() - 1 - places].starts_with(kPlaceBegins))
        ++places;
    return places;
}

}  // namespace

bool has_places(std::span<const std::string> vocabulary) { return places_at_end(vocabulary) > 0; }

std::string place_name(std::int64_t place) { return fmt::format("{}{}>", kPlaceBegins, place); }

std::string unused_name(std::size_t id) { return fmt::format("<{}>", id); }

Tokenizer::Tokenizer(TokenizerKind kind, bool special_tokens) : kind_(kind), special_tokens_(special_tokens) {
    if (special_tokens_) vocabulary_ = {std::string(kPad), std::string(kUnknown)};
}

Tokenizer::Tokenizer(TokenizerKind kind, std::span<const std::string> texts, bool special_tokens) : Tokenizer(kind, special_tokens) {
    if (kind_ == TokenizerKind::Bpe) throw ConfigError("the pieces of a bpe tokenizer must be trained first");
    for (const std::string& text : texts)
        each_token(kind_, text, [this](std::string_view symbol, const Symbol&, std::size_t) { add(symbol); });
}

bool Tokenizer::add(std::string_view symbol) {
    if (ids_.contains(symbol)) return false;
    if (vocabulary_.size() == kMaxVocabulary)
        throw ConfigError(fmt::format("the texts have more than {} different symbols", kMaxVocabulary));
    ids_.emplace(symbol, static_cast<std::int32_t>(vocabulary_.size()));
    vocabulary_.emplace_back(symbol);
    return true;
}

Tokenizer Tokenizer::trained(std::string_view text, std::int64_t size) {
    return from_vocabulary(TokenizerKind::Bpe, train_bpe(text, size), false);
}

Tokenizer Tokenizer::from_vocabulary(TokenizerKind kind, std::span<const std::string> vocabulary, bool special_tokens) {
    Tokenizer tokenizer(kind, special_tokens);
    if (kind == TokenizerKind::Bpe) {
        if (special_tokens) throw ConfigError("a bpe vocabulary has no special tokens");
        tokenizer.pieces_ = own_bpe(vocabulary);
        tokenizer.vocabulary_.assign(vocabulary.begin(), vocabulary.end());
        return tokenizer;
    }
    const std::vector<std::string>& specials = tokenizer.vocabulary_;
    if (vocabulary.size() < specials.size() || !std::equal(specials.begin(), specials.end(), vocabulary.begin()))
        throw ConfigError(fmt::format("a vocabulary with special tokens must begin with {} and {}", kPad, kUnknown));
    const std::int64_t places = kind == TokenizerKind::Word && !special_tokens ? places_at_end(vocabulary) : 0;
    if (places > kMostPlaces)
        throw ConfigError(fmt::format("the vocabulary has {} places for new words; at most {} are accepted", places, kMostPlaces));
    const std::size_t symbols = vocabulary.size() - static_cast<std::size_t>(places);
    for (std::size_t id = specials.size(); id < symbols; ++id) {
        const std::string& symbol = vocabulary[id];
        if (symbol.empty()) throw ConfigError(fmt::format("the symbol of id {} is empty", id));
        if (symbol == unused_name(id)) {
            tokenizer.vocabulary_.push_back(symbol);
            continue;
        }
        const Symbol piece = first_piece(kind, symbol, places > 0);
        if (!piece.is_token || piece.bytes != symbol.size())
            throw ConfigError(fmt::format("the symbol of id {}, \"{}\", is not one {}", id, escaped(symbol), tokenizer_name(kind)));
        if (!tokenizer.add(symbol)) throw ConfigError(fmt::format("the symbol of id {}, \"{}\", is given twice", id, escaped(symbol)));
    }
    tokenizer.places_ = places;
    tokenizer.first_place_ = static_cast<std::int32_t>(symbols);
    for (std::int64_t place = 1; place <= places; ++place) {
        const std::string& name = vocabulary[symbols + static_cast<std::size_t>(place) - 1];
        if (name != place_name(place))
            throw ConfigError(fmt::format("place {} for new words is called \"{}\", not {}", place, escaped(name), place_name(place)));
        tokenizer.vocabulary_.push_back(name);
    }
    if (places > 0) tokenizer.know_other_cases();
    return tokenizer;
}

void Tokenizer::know_other_cases() {
    // A word in lower case goes before the same one with a capital: THE is "the".
    for (const auto& [word, id] : ids_)
        if (in_lower_case(word) == word) lower_ids_.emplace(word, id);
    for (std::int32_t id = 0; id < first_place_; ++id) lower_ids_.emplace(in_lower_case(vocabulary_[static_cast<std::size_t>(id)]), id);
}

std::int32_t Tokenizer::known(std::string_view word) const {
    if (const auto exact = ids_.find(word); exact != ids_.end()) return exact->second;
    const auto other = lower_ids_.find(in_lower_case(word));
    return other != lower_ids_.end() ? other->second : -1;
}

std::vector<std::string> Tokenizer::new_words(std::span<const std::string> texts) const {
    std::vector<std::string> words;
    if (places_ == 0) return words;
    std::unordered_set<std::string> met;
    const auto note = [&](std::string_view word, const Symbol&, std::size_t) {
        const std::int32_t id = known(word);
        if ((id < 0 || id >= first_place_) && met.insert(in_lower_case(word)).second) words.emplace_back(word);
    };
    for (const std::string& text : texts) each_token(kind_, text, note, true);
    return words;
}

Tokenizer Tokenizer::with_new_words(std::span<const std::string> words) const {
    Tokenizer reading = *this;
    reading.vocabulary_.resize(static_cast<std::size_t>(first_place_));
    std::erase_if(reading.lower_ids_, [this](const auto& known) { return known.second >= first_place_; });
    for (const std::string& word : words.first(std::min(words.size(), static_cast<std::size_t>(places_)))) {
        reading.lower_ids_.emplace(in_lower_case(word), static_cast<std::int32_t>(reading.vocabulary_.size()));
        reading.vocabulary_.push_back(word);
    }
    reading.filled_ = true;
    return reading;
}

std::vector<TextToken> Tokenizer::encode_with_places(std::string_view text) const {
    if (!filled_) {
        const std::string one(text);
        return with_new_words(new_words({&one, 1})).encode(text);
    }
    std::vector<TextToken> tokens;
    each_token(
        kind_, text,
        [&](std::string_view word, const Symbol& piece, std::size_t at) {
            std::int32_t id = known(word);
            if (id < 0 && size() == first_place_ + places_) id = static_cast<std::int32_t>(size()) - 1;  // all others share the last place
            if (id < 0) throw ConfigError(fmt::format("\"{}\" (byte {} of the text) has no place in the vocabulary", escaped(word), at));
            tokens.push_back({id, false, !piece.valid, at, at + piece.bytes, id < first_place_ ? 0 : id - first_place_ + 1});
        },
        true);
    return tokens;
}

std::vector<TextToken> Tokenizer::encode(std::string_view text) const {
    std::vector<TextToken> tokens;
    if (pieces_ != nullptr) {
        for (const EncodedToken& token : pieces_->encode(text)) tokens.push_back({token.id, false, false, token.begin, token.end, 0});
        return tokens;
    }
    if (places_ > 0) return encode_with_places(text);
    each_token(kind_, text, [&](std::string_view symbol, const Symbol& piece, std::size_t at) {
        TextToken token{kUnknownId, true, !piece.valid, at, at + piece.bytes, 0};
        if (const auto known = ids_.find(symbol); known != ids_.end()) {
            token.id = known->second;
            token.unknown = false;
        } else if (!special_tokens_) {
            throw ConfigError(fmt::format("\"{}\" (byte {} of the text) is not in the vocabulary, which has no token for unknown symbols",
                                          escaped(symbol), at));
        }
        tokens.push_back(token);
    });
    return tokens;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
    std::string text;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] < 0 || ids[i] >= size()) throw Error(fmt::format("token id {} is outside the vocabulary of {}", ids[i], size()));
        if (i > 0 && kind_ == TokenizerKind::Word) text += ' ';
        text += vocabulary_[static_cast<std::size_t>(ids[i])];
    }
    return text;
}

TokenBatch make_batch(std::span<const std::vector<TextToken>> sequences, std::int32_t pad_id) {
    if (sequences.empty()) throw ConfigError("a batch needs at least one sequence");
    TokenBatch batch;
    for (const auto& sequence : sequences) {
        batch.lengths.push_back(static_cast<std::int64_t>(sequence.size()));
        batch.length = std::max(batch.length, batch.lengths.back());
    }
    // Padding many short sequences to one long one multiplies their size.
    if (batch.length > kMaxPositions / batch.size())
        throw ConfigError(fmt::format("{} sequences padded to {} tokens are too many; at most {} positions are accepted", batch.size(),
                                      batch.length, kMaxPositions));
    batch.ids.assign(static_cast<std::size_t>(batch.size() * batch.length), pad_id);
    for (std::int64_t b = 0; b < batch.size(); ++b)
        std::transform(sequences[static_cast<std::size_t>(b)].begin(), sequences[static_cast<std::size_t>(b)].end(),
                       batch.ids.begin() + static_cast<std::ptrdiff_t>(b * batch.length), [](const TextToken& token) { return token.id; });
    return batch;
}

}  // namespace attn
