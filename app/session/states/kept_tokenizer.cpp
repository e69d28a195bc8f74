#include "app/session/states/kept_tokenizer.hpp"

#include <string>
#include <vector>

namespace attn::app {
namespace {

/// A tokenizer whose vocabulary comes from the texts.
Tokenizer tokenizer_of_texts(const Setup& setup) {
    std::vector<std::string> texts = setup.vocabulary_texts;
    if (setup.config.architecture == Architecture::EncoderDecoder)
        texts.insert(texts.end(), setup.source_texts.begin(), setup.source_texts.end());
    texts.insert(texts.end(), setup.texts.begin(), setup.texts.end());
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

std::shared_ptr<const TextModel> KeptTokenizer::of(const Setup& setup) {
    if (setup.model != nullptr) return {setup.model.shared(), &setup.model->text()};
    const bool fixed = !setup.vocabulary.empty();
    const auto knows = [](const std::vector<std::string>& known, const std::vector<std::string>& words) { return known == words; };
    const bool same = fixed && own_ != nullptr && kind_ == setup.tokenizer && special_tokens_ == setup.special_tokens &&
                      knows(own_->vocabulary(), setup.vocabulary);
    if (same) return own_;
    own_ = nullptr;
    own_ = std::make_shared<const TextModel>(fixed ? Tokenizer::from_vocabulary(setup.tokenizer, setup.vocabulary, setup.special_tokens)
                                                   : tokenizer_of_texts(setup));
    kind_ = setup.tokenizer;
    special_tokens_ = setup.special_tokens;
    return own_;
}

}  // namespace attn::app
