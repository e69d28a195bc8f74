#pragma once
/// Does each stage of a recording follow from the stages before it? Computed in double precision; what rounding can do is allowed for, and
/// nothing else.

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/recording/numbers.hpp"
#include "engine/recording/recorded_step.hpp"
#include "engine/recording/recording.hpp"

namespace attn::recording {

enum class Outcome : std::uint8_t {
    Follows,
    Differs,
    Unknown,  ///< it was not recorded, or its inputs were not, or we have no arithmetic for it
};

struct StageCheck {
    std::string stage;  ///< within its attention
    Outcome outcome = Outcome::Unknown;
    std::string reason;              ///< of Unknown
    std::vector<std::int64_t> cell;  ///< of Differs: where it is farthest from what is allowed
    double recorded = 0, expected = 0;
};

/// A parameter, which is only in the files of those steps in which it had changed; nothing if it was not recorded.
using FindParameter = std::function<std::optional<NamedArray>(const std::string& name)>;

/// The parameters as of a step.
FindParameter parameters_as_of(const Recording& recording, const StepFile& step);

/// A stage that was not recorded, computed from what was; nothing where that is not possible. Throws as check_stages().
std::optional<Numbers> computed_stage(const RecordedGraph& graph, const RecordedAttention& attention, const RecordedStage& stage,
                                      const RecordedStep& step, const FindParameter& parameter);

/// Checks every stage of one attention that is in the step, in their order, and then what a kernel made of the attention and the rest of
/// its layer. Maps of more than 2^26 numbers are not computed. Throws FileError if
/// the step's file cannot be read, and Cancelled.
std::vector<StageCheck> check_stages(const RecordedGraph& graph, const RecordedAttention& attention, const RecordedStep& step,
                                     const FindParameter& parameter, const std::stop_token& stop = {});

}  // namespace attn::recording
