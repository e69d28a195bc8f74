#include "app/session/model_document.hpp"

#include <utility>

namespace attn::app {

Document document_of_model(std::shared_ptr<const OpenedModel> model) {
    Document document;
    document.texts = {"When Anna and Ben came home, Ben gave the keys to Anna. When Anna and Ben came home, Ben gave"};
    document.config = model->config();
    document.forward.masks.causal = model->config().architecture == Architecture::DecoderOnly;
    document.model = std::move(model);
    return document;
}

}  // namespace attn::app
