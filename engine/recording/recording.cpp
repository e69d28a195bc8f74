#include "engine/recording/recording.hpp"

#include <algorithm>

#include "engine/io/file_error.hpp"

namespace attn::recording {

const RecordedStage* RecordedAttention::find(std::string_view stage) const {
    const auto found = std::find_if(stages.begin(), stages.end(), [&](const RecordedStage& each) { return each.name == stage; });
    return found == stages.end() ? nullptr : &*found;
}

bool RecordedAttention::has_fact(std::string_view what) const {
    return std::any_of(facts.begin(), facts.end(), [&](const Fact& fact) { return fact.what == what; });
}

std::int64_t RecordedAttention::size(char letter) const {
    const auto found = sizes.find(letter);
    return found == sizes.end() ? 0 : found->second;
}

const StepFile& step_file(const Recording& recording, std::optional<std::int64_t> step) {
    const std::vector<StepFile>& steps = recording.steps;
    if (steps.empty()) throw Error("nothing is recorded yet: " + escaped(recording.path.native(), 0) + " has no step");
    const std::int64_t wanted = step.value_or(steps.back().step);
    const auto found = std::find_if(steps.begin(), steps.end(), [&](const StepFile& each) { return each.step == wanted; });
    if (found != steps.end()) return *found;
    throw Error("step " + std::to_string(wanted) + " was not recorded; the first is " + std::to_string(steps.front().step) + ", the last " +
                std::to_string(steps.back().step));
}

std::string full_name(const RecordedAttention& attention, const RecordedStage& stage) {
    return stage.tensor.empty() ? attention.name + "/" + stage.name : stage.tensor;
}

}  // namespace attn::recording
