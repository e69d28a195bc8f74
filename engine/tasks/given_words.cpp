#include "engine/tasks/given_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/io/file_error.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tokenizer/known_words.hpp"

namespace attn {
namespace {

bool has_none(GivenWords words) {
    return std::all_of(words.begin(), words.end(), [](const std::string& word) { return word.empty(); });
}

bool is_one_token(TokenizerKind kind, const std::string& word) {
    const std::vector<std::string> symbols = Tokenizer(kind, std::span(&word, 1), false).vocabulary();
    return symbols.size() == 1 && symbols.front() == word;
}

/// The words as a vocabulary of this kind; nothing if one of them is no token of it.
std::vector<std::string> vocabulary_of(TokenizerKind kind, GivenWords words) {
    std::vector<std::string> vocabulary;
    for (std::size_t id = 0; id < words.size(); ++id) {
        const bool word = !words[id].empty() && is_one_token(kind, words[id]);
        if (!word && !words[id].empty() && !is_bracketed(words[id])) return {};
        vocabulary.push_back(word ? words[id] : unused_name(id));
    }
    return vocabulary;
}

/// Gives each of the source's ids another one.
class OtherIds : public SequenceSource {
public:
    OtherIds(std::unique_ptr<const SequenceSource> source, Tokenizer tokenizer, std::vector<std::int32_t> ids)
        : source_(std::move(source)), tokenizer_(std::move(tokenizer)), ids_(std::move(ids)) {}

    Tokenizer tokenizer() const override { return tokenizer_; }
    std::int64_t length() const override { return source_->length(); }
    std::int64_t source_length() const override { return source_->source_length(); }
    std::int64_t held_out() const override { return source_->held_out(); }
    SequenceSize draw(Draws& draws, SequenceSlot slot) const override { return changed(slot, source_->draw(draws, slot)); }
    SequenceSize held_out(std::int64_t index, SequenceSlot slot) const override { return changed(slot, source_->held_out(index, slot)); }

private:
    SequenceSize changed(const SequenceSlot& slot, SequenceSize size) const {
        for (const std::span<std::int32_t> row : {slot.tokens, slot.targets, slot.source})
            for (std::int32_t& id : row)
                if (id >= 0) id = ids_[static_cast<std::size_t>(id)];  // targets that are not asked for stay
        return size;
    }

    std::unique_ptr<const SequenceSource> source_;
    Tokenizer tokenizer_;
    std::vector<std::int32_t> ids_;
};

}  // namespace

Tokenizer tokenizer_of(GivenWords words, TokenizerKind first) {
    std::vector<std::string> ids;
    for (std::size_t id = 0; id < words.size(); ++id) ids.push_back(std::to_string(id));
    if (has_none(words) || std::equal(words.begin(), words.end(), ids.begin()))
        return Tokenizer::from_vocabulary(TokenizerKind::Word, ids, false);
    for (const TokenizerKind kind : {first, TokenizerKind::Character, TokenizerKind::Word})
        if (const std::vector<std::string> vocabulary = vocabulary_of(kind, words); !vocabulary.empty())
            return Tokenizer::from_vocabulary(kind, vocabulary, false);
    throw ConfigError("the model reads pieces of words: only one that reads single characters, whole words or ids can be trained further");
}

std::unique_ptr<const SequenceSource> in_words(std::unique_ptr<const SequenceSource> source, GivenWords words) {
    const Tokenizer own = source->tokenizer();
    std::vector<std::string> symbols = own.vocabulary();
    if (own.places() > 0) throw ConfigError("a model that has words already has no places for new words: set their number to 0");
    if (symbols.size() > words.size())
        throw ConfigError(fmt::format("the task has {} symbols, but the model only {} ids", symbols.size(), words.size()));
    std::vector<std::int32_t> ids(symbols.size());
    if (has_none(words)) {
        for (std::size_t id = 0; id < symbols.size(); ++id) ids[id] = static_cast<std::int32_t>(id);
        for (std::size_t id = symbols.size(); id < words.size(); ++id) symbols.push_back(unused_name(id));
        return std::make_unique<OtherIds>(std::move(source), Tokenizer::from_vocabulary(own.kind(), symbols, false), std::move(ids));
    }
    Tokenizer theirs = tokenizer_of(words, own.kind());
    std::unordered_map<std::string, std::int32_t> known;
    for (std::size_t id = 0; id < words.size(); ++id) known.emplace(theirs.vocabulary()[id], static_cast<std::int32_t>(id));
    for (std::size_t id = 0; id < symbols.size(); ++id) {
        const auto found = known.find(symbols[id]);
        if (found == known.end())
            throw ConfigError(fmt::format("the task needs the word \"{}\", which the model does not have", escaped(symbols[id])));
        ids[id] = found->second;
    }
    return std::make_unique<OtherIds>(std::move(source), std::move(theirs), std::move(ids));
}

}  // namespace attn
