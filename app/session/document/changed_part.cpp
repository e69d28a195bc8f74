#include "app/session/document/changed_part.hpp"

namespace attn::app {
namespace {

std::string_view changed_forward(const ForwardSettings& before, const ForwardSettings& after) {
    if (before.mistake != after.mistake) return "the mistake";
    if (before.edits != after.edits) return after.edits.size() > before.edits.size() ? "an edit" : "the edits";
    if (before.masks != after.masks) return "the masks";
    if (before.temperature != after.temperature) return "the temperature";
    return "the dropout";
}

}  // namespace

std::string_view changed_part(const Document& before, const Document& after) {
    if (before.model != after.model && after.model != nullptr) return "opening the model";
    if (before.preset != after.preset && !after.preset.empty()) return "opening the example";
    if (before.model != after.model) return "opening the document";
    if (before.recorded && after.recorded && before.recorded != after.recorded) return "the recorded step";
    if (before.trained != after.trained) return "the moment of the run";
    if (before.preset != after.preset || before.shipped != after.shipped) return "opening the document";
    if (before.config != after.config) return "the model's settings";
    if (before.tokenizer != after.tokenizer) return "the tokenizer";
    if (before.texts != after.texts || before.source_texts != after.source_texts) return "the text";
    if (before.writing != after.writing || before.written != after.written) return "the written text";
    if (before.pins != after.pins) return "the pin";
    if (before.forward != after.forward) return changed_forward(before.forward, after.forward);
    if (before.sampling != after.sampling) return "the sampler's settings";
    if (before.run != after.run) return "the training settings";
    return "the last change";
}

}  // namespace attn::app
