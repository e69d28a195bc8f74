#include "app/session/training/trained_document.hpp"

#include <utility>
#include <vector>

namespace attn::app {

namespace {

std::vector<std::string> source_texts_of(const Probe& probe) {
    return probe.source.empty() ? std::vector<std::string>() : std::vector{probe.source};
}

bool shows(const Document& document, const Probe& probe) {
    return document.texts == std::vector{probe.text} && document.source_texts == source_texts_of(probe);
}

}  // namespace

Probe probe_of(const RunStatus& run) { return {run.probe, run.probe_source}; }

Document document_of_run(Document document, const RunStatus& run, std::optional<std::int64_t> step, const Probe& last_probe) {
    if (document.trained.has_value() && document.trained->run == run.run) {
        document.trained->step = step;
        return document;
    }
    const Config& config = run.parameters->config();
    const bool own_text = document.trained.has_value() && document.vocabulary == run.vocabulary &&
                          document.config.context_length == config.context_length && document.config.architecture == config.architecture &&
                          !shows(document, last_probe);
    if (!own_text) {
        document.texts = {run.probe};
        document.source_texts = source_texts_of(probe_of(run));
    }
    document.preset.clear();
    document.look_at.clear();
    document.tokenizer = run.tokenizer;
    document.special_tokens = run.special_tokens;
    document.vocabulary_texts.clear();
    document.vocabulary = run.vocabulary;
    ForwardSettings forward = run.settings.train.forward;
    forward.dropout = {};
    // Keep the forward settings chosen for the previous run's model, except the mistake, which belongs to the run.
    if (document.trained.has_value() && document.config == config) {
        const Mistake mistake = forward.mistake;
        forward = std::move(document.forward);
        forward.mistake = mistake;
    }
    document.forward = std::move(forward);
    document.config = config;
    document.trained = TrainedModel{run.run, step};
    document.model = nullptr;
    document.shipped.reset();
    document.recorded.reset();
    return document;
}

Document untrained(Document document) {
    document.trained.reset();
    document.shipped.reset();
    // Listing every symbol as a text of its own, in the order of the ids, reproduces the same ids.
    std::vector<std::string> words = std::exchange(document.vocabulary, {});
    while (has_places(words)) words.pop_back();  // an untrained model has the new words in its vocabulary
    if (!words.empty()) document.vocabulary_texts = std::move(words);
    return document;
}

}  // namespace attn::app
