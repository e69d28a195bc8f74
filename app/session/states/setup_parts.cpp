#include "app/session/states/setup_parts.hpp"

#include <array>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace attn::app {
namespace {

template <class SetupType>
auto text_of(SetupType& setup) {
    return std::tie(setup.texts, setup.written, setup.source_texts);
}

template <class SetupType>
auto softmax_of(SetupType& setup) {
    return std::tie(setup.forward.temperature, setup.forward.dropout);
}

template <class SetupType>
auto model_of(SetupType& setup) {
    return std::tie(setup.model, setup.shipped, setup.tokenizer, setup.special_tokens, setup.vocabulary_texts, setup.vocabulary,
                    setup.config);
}

}  // namespace

SetupParts differing_parts(const Setup& a, const Setup& b) {
    SetupParts differing;
    const auto note = [&](bool differs, SetupPart part) {
        if (differs) differing = differing | SetupParts::of(part);
    };
    note(text_of(a) != text_of(b), SetupPart::Text);
    note(a.forward.masks != b.forward.masks, SetupPart::Masks);
    note(softmax_of(a) != softmax_of(b), SetupPart::Softmax);
    note(a.forward.edits != b.forward.edits, SetupPart::Edits);
    note(a.forward.mistake != b.forward.mistake, SetupPart::Mistake);
    note(model_of(a) != model_of(b), SetupPart::Model);
    return differing;
}

SetupParts differing_parts(const State& a, const State& b) {
    const SetupParts differing = a.setup == b.setup ? SetupParts() : differing_parts(*a.setup, *b.setup);
    return a.source == b.source ? differing : differing | SetupParts::of(SetupPart::Model);
}

State with_parts_of(const State& state, const State& other, SetupParts parts) {
    Setup setup = *state.setup;
    const Setup& from = *other.setup;
    if (parts.has(SetupPart::Text)) text_of(setup) = text_of(from);
    if (parts.has(SetupPart::Masks)) setup.forward.masks = from.forward.masks;
    if (parts.has(SetupPart::Softmax)) softmax_of(setup) = softmax_of(from);
    if (parts.has(SetupPart::Edits)) setup.forward.edits = from.forward.edits;
    if (parts.has(SetupPart::Mistake)) setup.forward.mistake = from.forward.mistake;
    if (parts.has(SetupPart::Model)) model_of(setup) = model_of(from);
    return {std::make_shared<const Setup>(std::move(setup)), parts.has(SetupPart::Model) ? other.source : state.source};
}

std::string words_for(SetupParts parts) {
    static constexpr std::array<std::string_view, kSetupParts> kWords = {"the text",  "the masks",   "the softmax settings",
                                                                         "the edits", "the mistake", "the model"};
    std::vector<std::string_view> named;
    for (int i = 0; i < kSetupParts; ++i)
        if (parts.has(static_cast<SetupPart>(i))) named.push_back(kWords[static_cast<std::size_t>(i)]);
    std::string words;
    for (std::size_t i = 0; i < named.size(); ++i) {
        if (i > 0) words += i + 1 == named.size() ? " and " : ", ";
        words += named[i];
    }
    return words;
}

}  // namespace attn::app
