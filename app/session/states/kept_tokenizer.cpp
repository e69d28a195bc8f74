#include "app/session/states/kept_tokenizer.hpp"

#include <string>
#include <vector>

namespace attn::app {
namespace {

/// A tokenizer whose vocabulary comes from the texts.
Tokenizer tokenizer_of_texts(const Setup& setup) {
    std::vector<std::string> texts = setup.vocabulary_texts;
    const std::vector<std::string> read = texts_read(setup);
    texts.insert(texts.end(), read.begin(), read.end());
    return {setup.tokenizer, texts, setup.special_tokens};
}

}  // namespace

const TextConventions& conventions_of(const Setup& setup) {
    return setup.model != nullptr ? setup.model->text().conventions() : own_conventions(setup.tokenizer, setup.special_tokens);
}

bool same_ids(const Setup& a, const Setup& b) {
    if (!a.model || !b.model) return !a.model && !b.model;
    return a.model->text().vocabulary() == b.model->text().vocabulary();
}

std::vector<std::string> texts_read(const Setup& setup) {
    std::vector<std::string> texts;
    if (setup.config.architecture == Architecture::EncoderDecoder) texts = setup.source_texts;
    texts.insert(texts.end(), setup.texts.begin(), setup.texts.end());
    return texts;
}

std::shared_ptr<const TextModel> KeptTokenizer::of(const Setup& setup) {
    if (setup.model != nullptr) return {setup.model.shared(), &setup.model->text()};
    const bool fixed = !setup.vocabulary.empty();
    const bool same =
        fixed && own_ != nullptr && kind_ == setup.tokenizer && special_tokens_ == setup.special_tokens && vocabulary_ == setup.vocabulary;
    if (!same) {
        own_ = reads_ = nullptr;
        own_ = std::make_shared<const TextModel>(fixed ? Tokenizer::from_vocabulary(setup.tokenizer, setup.vocabulary, setup.special_tokens)
                                                       : tokenizer_of_texts(setup));
        reads_ = own_;
        vocabulary_ = setup.vocabulary;
        kind_ = setup.tokenizer;
        special_tokens_ = setup.special_tokens;
    }
    if (own_->places() > 0) reads_ = TextModel::reading(reads_, texts_read(setup));
    return reads_;
}

}  // namespace attn::app
