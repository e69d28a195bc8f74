#include "app/session/document/model_document.hpp"

#include <utility>

namespace attn::app {

namespace {

/// The first of our example sentences that fits into the model's context.
std::string text_for(const OpenedModel& model) {
    for (const char* text : {"When Anna and Ben came home, Ben gave the keys to Anna. When Anna and Ben came home, Ben gave",
                             "The cat sat on the mat and the cat"})
        if (static_cast<std::int64_t>(model.tokenizer().encode(text).size()) <= model.config().longest_text()) return text;
    return "a";
}

}  // namespace

Document document_of_model(std::shared_ptr<const OpenedModel> model) {
    Document document;
    document.texts = {text_for(*model)};
    document.config = model->config();
    // An encoder-decoder reads the same text in its encoder and its decoder.
    if (document.config.architecture == Architecture::EncoderDecoder) document.source_texts = document.texts;
    document.forward.masks.causal = document.config.architecture != Architecture::Encoder;
    document.model = std::move(model);
    return document;
}

}  // namespace attn::app
