#include "app/session/files/recorded_model.hpp"

#include <fmt/format.h>

#include <span>
#include <utility>
#include <vector>

#include "app/session/document/model_document.hpp"
#include "app/session/states/opened_model.hpp"
#include "engine/families/write_model.hpp"
#include "engine/recording/model_of_recording.hpp"

namespace attn::app {
namespace {

/// A text for each sequence, in the model's words, or else the ids of its tokens.
std::vector<std::string> texts_of(const TokenBatch& tokens, const TextModel& model) {
    std::vector<std::string> texts;
    for (std::int64_t text = 0; text < tokens.size(); ++text) {
        const auto first = tokens.ids.begin() + text * tokens.length;
        texts.push_back(model.decode(std::span(first, static_cast<std::size_t>(tokens.lengths[static_cast<std::size_t>(text)]))));
    }
    return texts;
}

}  // namespace

OpenedAsModel open_as_model(const RecordedNumbers& recorded, const std::stop_token& stop) {
    const OpenedRecording& opened = *recorded.recording;
    const recording::RecordedModel model = recording::model_of_recording(opened.recording(), recorded.step, stop);
    const std::string name = std::filesystem::path(opened.name()).stem().string();
    const std::filesystem::path folder = opened.path() / fmt::format("{}-model-{}", name, recorded.step);
    if (!holds_model(folder, *model.parameters, model.words)) write_model(folder, *model.parameters, model.words);
    const std::shared_ptr<const OpenedModel> made = OpenedModel::open(folder);
    OpenedAsModel result{folder, document_of_model(made), model.proof()};
    result.document.texts = texts_of(model.tokens, made->text());
    if (!model.source.ids.empty()) result.document.source_texts = texts_of(model.source, made->text());
    result.document.forward.masks.causal = model.causal;
    return result;
}

}  // namespace attn::app
