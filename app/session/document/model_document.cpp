#include "app/session/document/model_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/families/family.hpp"
#include "engine/families/model_folder.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {

namespace {

/// Whether the model can read the text: a small vocabulary may not spell it.
bool fits(const OpenedModel& model, std::string_view text) {
    try {
        return static_cast<std::int64_t>(model.text().encode(text, true).size()) <= model.config().longest_text();
    } catch (const ConfigError&) {
        return false;
    }
}

/// A text of the first ids.
std::string first_ids(const OpenedModel& model) {
    constexpr std::int64_t kMost = 12;
    std::vector<std::int32_t> ids(static_cast<std::size_t>(std::min({kMost, model.config().longest_text(), model.config().vocab_size})));
    std::iota(ids.begin(), ids.end(), 0);
    return model.text().decode(ids);
}

/// The first of our example sentences that fits into the model's context. Most models continue it; an encoder fills in its hidden word.
std::string text_for(const OpenedModel& model) {
    if (model.text().conventions().ids) return first_ids(model);
    std::vector<std::string> texts = {"When Anna and Ben came home, Ben gave the keys to Anna. When Anna and Ben came home, Ben gave",
                                      "The cat sat on the mat and the cat"};
    const Config& config = model.config();
    if (const std::string& mask = model.text().conventions().mask;
        !mask.empty() && config.architecture == Architecture::Encoder && config.lm_head)
        texts = {fmt::format("When Anna and Ben came home, Ben gave the keys to {}.", mask), fmt::format("The cat sat on the {}.", mask)};
    for (const std::string& text : texts)
        if (fits(model, text)) return text;
    return fits(model, "a") ? "a" : first_ids(model);
}

void set_both_texts(Document& document, const OpenedModel& model) {
    const Family& family = *model.folder().family;
    document.source_texts = document.texts;
    const bool knows_example =
        !model.text().conventions().ids && !family.example_source.empty() && model.folder().model_type == family.model_types.front();
    if (!knows_example || !fits(model, family.example_source) || !fits(model, family.example_target)) return;
    document.source_texts = {std::string(family.example_source)};
    document.texts = {std::string(family.example_target)};
}

}  // namespace

Document document_of_model(std::shared_ptr<const OpenedModel> model) {
    Document document;
    document.texts = {text_for(*model)};
    document.config = model->config();
    if (document.config.architecture == Architecture::EncoderDecoder) set_both_texts(document, *model);
    document.forward.masks.causal = document.config.architecture != Architecture::Encoder;
    document.model = std::move(model);
    return document;
}

}  // namespace attn::app
