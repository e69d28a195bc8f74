#include "app/session/document/held_models.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace attn::app {
namespace {

using ChangeModel = std::function<ModelRef(const ModelRef&)>;

/// The document with other references to its models; the same object if `changed` gives what is there.
std::shared_ptr<const Document> with_models(std::shared_ptr<const Document> document, const ChangeModel& changed) {
    std::shared_ptr<Document> next;
    const auto own = [&]() -> Document& {
        if (next == nullptr) next = std::make_shared<Document>(*document);
        return *next;
    };
    const auto differs = [](const ModelRef& a, const ModelRef& b) { return a.shared() != b.shared(); };
    if (ModelRef model = changed(document->model); differs(model, document->model)) own().model = std::move(model);
    for (const auto pinned : {&Pins::a, &Pins::b}) {
        const std::optional<State>& state = document->pins.*pinned;
        if (!state) continue;
        ModelRef model = changed(state->setup->model);
        if (!differs(model, state->setup->model)) continue;
        auto setup = std::make_shared<Setup>(*state->setup);
        setup->model = std::move(model);
        (own().pins.*pinned)->setup = std::move(setup);
    }
    return next == nullptr ? document : next;
}

}  // namespace

std::vector<ModelRef> models_of(const Document& document) {
    std::vector<ModelRef> models;
    const auto add = [&](const ModelRef& model) {
        if (model != nullptr && std::find(models.begin(), models.end(), model) == models.end()) models.push_back(model);
    };
    add(document.model);
    for (const std::optional<State>* state : {&document.pins.a, &document.pins.b})
        if (*state) add((*state)->setup->model);
    return models;
}

std::shared_ptr<const Document> releasing_models(std::shared_ptr<const Document> document, const std::vector<ModelRef>& kept) {
    return with_models(std::move(document), [&](const ModelRef& model) {
        return std::find(kept.begin(), kept.end(), model) == kept.end() ? model.released() : model;
    });
}

std::shared_ptr<const Document> holding_models(std::shared_ptr<const Document> document, const std::vector<ModelRef>& opened) {
    return with_models(std::move(document), [&](const ModelRef& model) {
        if (model.held()) return model;
        const auto found = std::find(opened.begin(), opened.end(), model);
        return found == opened.end() ? model.held_if_open() : *found;
    });
}

}  // namespace attn::app
