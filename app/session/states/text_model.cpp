#include "app/session/states/text_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/grammar/toy_languages.hpp"
#include "engine/io/file_error.hpp"
#include "engine/tasks/task_settings.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tokenizer/id_tokenizer.hpp"
#include "engine/tokenizer/model_tokenizer.hpp"

namespace attn::app {
namespace {

TextConventions made_conventions(TokenizerKind kind, bool special_tokens) {
    TextConventions made;
    if (kind != TokenizerKind::Bpe) made.token = tokenizer_name(kind);
    if (kind == TokenizerKind::Word) made.between = " ";
    made.mask = kBlank;
    made.answer_begins = kAnswerBegins;
    made.ends_as_source = true;
    made.first_word = special_tokens ? 2 : 0;
    made.pieces = kind == TokenizerKind::Bpe;
    return made;
}

std::vector<std::string> texts_by_id(const ModelTokenizer& tokenizer, std::int64_t count) {
    std::vector<std::string> texts;
    texts.reserve(static_cast<std::size_t>(count));
    for (std::int64_t id = 0; id < count; ++id) texts.push_back(tokenizer.token_bytes(id));
    return texts;
}

}  // namespace

bool TextConventions::is_end(std::int32_t id) const { return std::binary_search(ends.begin(), ends.end(), id); }

std::vector<std::int32_t> TextConventions::ends_after(std::span<const std::int32_t> source) const {
    return ends_as_source && !source.empty() ? std::vector{source.back()} : ends;
}

const TextConventions& own_conventions(TokenizerKind kind, bool special_tokens) {
    static const auto kAll = [] {
        std::array<std::array<TextConventions, 2>, kTokenizerNames.size()> all;
        for (std::size_t i = 0; i < all.size(); ++i)
            for (const bool special : {false, true}) all[i][special] = made_conventions(static_cast<TokenizerKind>(i), special);
        return all;
    }();
    return kAll.at(static_cast<std::size_t>(kind))[special_tokens];
}

TextModel::TextModel(Tokenizer own)
    : pieces_(own.pieces()), conventions_(own_conventions(own.kind(), own.has_special_tokens())), vocabulary_(own.vocabulary()) {
    if (pieces_ == nullptr) symbols_ = std::move(own);
}

TextModel::TextModel(std::shared_ptr<const ModelTokenizer> pieces, std::int64_t ids, TextConventions conventions)
    : pieces_(std::move(pieces)), conventions_(std::move(conventions)) {
    if (pieces_ == nullptr) {
        pieces_ = id_tokenizer(ids);
        conventions_.ids = true;
        conventions_.between = " ";
    }
    vocabulary_ = texts_by_id(*pieces_, ids);
    conventions_.notes = pieces_->notes();
    for (const AddedToken& token : pieces_->added_tokens()) {
        const bool masks = token.content == "[MASK]" || token.content == "<mask>";
        if (masks && conventions_.mask.empty()) conventions_.mask = token.content;
        else if (token.special && !token.content.empty() && token.content != conventions_.mask)
            conventions_.specials.push_back(token.content);
    }
}

std::shared_ptr<const TextModel> TextModel::reading(const std::shared_ptr<const TextModel>& model, std::span<const std::string> texts) {
    if (model->places() == 0) return model;
    Tokenizer reads = model->symbols_->with_new_words(model->new_words(texts));
    const std::vector<std::string>& known = model->vocabulary();
    if (reads.vocabulary() == known) return model;
    return std::make_shared<const TextModel>(std::move(reads));
}

std::int32_t TextModel::place_of(std::int32_t id) const {
    return places() > 0 && id >= symbols_->first_place() ? id - symbols_->first_place() + 1 : 0;
}

std::vector<std::string> TextModel::new_words(std::span<const std::string> texts) const {
    return symbols_ ? symbols_->new_words(texts) : std::vector<std::string>();
}

std::vector<TextToken> TextModel::tokens_of(const std::string& text, Reader reader) const {
    if (symbols_) return symbols_->encode(text);
    std::vector<TextToken> tokens;
    if (reader == Reader::Decoder && conventions_.decoder_start) tokens.push_back({*conventions_.decoder_start, false, false, 0, 0, 0});
    for (const EncodedToken& token : pieces_->encode(text, reader == Reader::Model)) {
        if (token.id >= static_cast<std::int64_t>(vocabulary_.size()))
            throw ConfigError(fmt::format("the tokenizer gives \"{}\" the id {}, but the model has only {} ids",
                                          escaped(text.substr(token.begin, token.end - token.begin)), token.id, vocabulary_.size()));
        tokens.push_back({token.id, token.id == pieces_->unknown_id(), false, token.begin, token.end, 0});
    }
    return tokens;
}

std::vector<std::int32_t> TextModel::segments_of(const TokenBatch& tokens) const {
    const std::optional<std::int32_t> separator = conventions_.pairs ? pieces_->separator() : std::nullopt;
    if (!separator) return {};
    std::vector<std::int32_t> segments(tokens.ids.size());
    bool any = false;
    for (std::int64_t b = 0; b < tokens.size(); ++b) {
        const std::int64_t begin = b * tokens.length, end = begin + tokens.lengths[static_cast<std::size_t>(b)];
        std::int64_t at = begin;
        while (at < end && tokens.ids[static_cast<std::size_t>(at)] != *separator) ++at;
        for (++at; at < end; ++at) {
            segments[static_cast<std::size_t>(at)] = 1;
            any = true;
        }
    }
    return any ? segments : std::vector<std::int32_t>();
}

std::string TextModel::decode(std::span<const std::int32_t> ids) const {
    return symbols_ ? symbols_->decode(ids) : pieces_->decode(ids, true);
}

std::string TextModel::first_text(std::int32_t id) const {
    std::string first = vocabulary_.at(static_cast<std::size_t>(id));
    if (pieces_ != nullptr && first.starts_with(' ') && !pieces_->decode({&id, 1}).starts_with(' ')) first.erase(0, 1);
    return first;
}

Encoding TextModel::encode(std::string_view text, bool special, std::vector<std::string>* texts) const {
    if (pieces_ != nullptr) return texts == nullptr ? pieces_->encode(text, special) : pieces_->encode(text, special, *texts);
    Encoding encoding;
    for (const TextToken& token : symbols_->encode(text)) {
        encoding.push_back(
            {.id = token.id, .begin = static_cast<std::uint32_t>(token.begin), .end = static_cast<std::uint32_t>(token.end)});
        if (texts != nullptr) texts->push_back(spelling(token.id));
    }
    return encoding;
}

std::string TextModel::spelling(std::int32_t id) const {
    return pieces_ != nullptr ? pieces_->token_text(id).value_or("") : vocabulary_.at(static_cast<std::size_t>(id));
}

}  // namespace attn::app
