#pragma once
/// The range of a stage's finite, unmasked numbers, which its colour bar spans.

#include <vector>

#include "engine/trace/trace.hpp"

namespace attn {

struct StageRange {
    StageId id;
    float lo = 0, hi = 0;     ///< both 0 if there is no finite, unmasked number
    std::int64_t finite = 0;  ///< how many numbers were counted
};

/// Extends the range by some rows of the stage, with their mask (null: nothing is masked).
void extend(StageRange& range, const Tensor<float>& rows, const Mask* mask);
StageRange stage_range(const RecordedStage<float>& stage);
/// Ranges of all stages, in the trace's order.
std::vector<StageRange> stage_ranges(const Trace<float>& trace);

}  // namespace attn
