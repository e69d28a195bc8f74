#include "app/session/document/recording_document.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "app/session/states/opened_recording.hpp"

namespace attn::app {
namespace {

std::vector<std::string> joined(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::string> texts;
    for (const std::vector<std::string>& row : rows) texts.push_back(fmt::format("{}", fmt::join(row, " ")));
    return texts;
}

/// The weights of the first attention; where it has none, its last map, or the last stage that can be drawn. Without any, the first matrix.
Look opening_look_at(const OpenedStep& opened) {
    Look look;
    const recording::AttentionGroup& group = opened.group();
    if (!group.matrices.empty()) {
        look.stage = recording::place_of_matrix(group, 0);
        return look;
    }
    bool found_map = false;
    const recording::RecordedAttention& first = opened.graph().attentions[group.members.front()];
    for (const recording::RecordedStage& stage : first.stages) {
        const std::optional<StageId> id = place_of(group, first, stage, 0);
        if (!id || (found_map && !is_attention_map(id->stage))) continue;
        found_map = is_attention_map(id->stage);
        look.stage = *id;
        if (id->stage == Stage::Weights && id->nth == 0) break;
    }
    return look;
}

}  // namespace

// The setup describes what was recorded, for what is said of it; of what is computed it has the edits.
Document document_of_recording(std::shared_ptr<const OpenedRecording> recording, std::optional<std::int64_t> step, std::size_t group) {
    const RecordedNumbers numbers{recording, step.value_or(recording->steps().back()), group};
    const OpenedStep opened(numbers);
    const recording::RecordedWords words = words_of(recording->recording(), opened.group());
    Document document;
    document.recorded = numbers;
    document.look = opening_look_at(opened);
    document.recorded_files = recording->recording().files;
    document.config = config_of(recording->recording(), opened.group());
    document.texts = joined(words.queries);
    document.source_texts = joined(words.keys);
    document.vocabulary = words.all;
    document.special_tokens = false;
    document.forward.masks.padding = false;
    return document;
}

Document moved_to(std::shared_ptr<const OpenedRecording> recording, std::optional<std::int64_t> step, std::size_t group,
                  const Document& before) {
    Document document = document_of_recording(std::move(recording), step, group);
    if (before.recorded && before.recorded->group == group) document.forward.edits = before.forward.edits;
    document.pins = before.pins;
    return document;
}

}  // namespace attn::app
