#include "app/session/states/kept_tokenizer.hpp"

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

const Tokenizer& KeptTokenizer::of(const Setup& setup) {
    const bool fixed = !setup.vocabulary.empty();
    const bool same = fixed && tokenizer_ && tokenizer_->kind() == setup.tokenizer &&
                      tokenizer_->has_special_tokens() == setup.special_tokens && tokenizer_->vocabulary() == setup.vocabulary;
    if (same) return *tokenizer_;
    tokenizer_.reset();
    tokenizer_.emplace(fixed ? Tokenizer::from_vocabulary(setup.tokenizer, setup.vocabulary, setup.special_tokens)
                             : tokenizer_of_texts(setup));
    return *tokenizer_;
}

}  // namespace attn::app
