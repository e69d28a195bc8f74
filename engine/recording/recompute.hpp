#pragma once
/// What becomes of a recorded stage when numbers before it are changed by hand.

#include <map>
#include <optional>
#include <string>

#include "engine/recording/follow.hpp"
#include "engine/recording/numbers.hpp"
#include "engine/recording/recorded_step.hpp"
#include "engine/recording/recording.hpp"

namespace attn::recording {

/// The numbers of stages that are others after an edit, by the names of the stages in the step's file.
using ChangedStages = std::map<std::string, Numbers, std::less<>>;

/// A stage, or why it is not to be had; neither if there is nothing new.
struct StageNumbers {
    std::optional<Numbers> numbers;
    std::string why;
};

/// A stage without edits: recorded, or computed from what was. For a stage between attentions, `attention` is an empty one. Throws as
/// check_stages().
StageNumbers unedited_stage(const RecordedGraph& graph, const RecordedAttention& attention, const RecordedStage& stage,
                            const RecordedStep& step, const FindParameter& parameter);

/// The same when stages that it reads were changed, computed in double precision by the operation of the recorded code and rounded to the
/// type that its numbers have there. A number whose own operands were not changed stays as it is; nothing is new if all are such. There is
/// no stage if the numbers that were recorded do not follow from theirs: then the code did something else.
StageNumbers stage_after(const ChangedStages& changed, const RecordedGraph& graph, const RecordedAttention& attention,
                         const RecordedStage& stage, const RecordedStep& step, const FindParameter& parameter);

}  // namespace attn::recording
