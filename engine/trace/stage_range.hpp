#pragma once
/// The range of the finite, unmasked numbers of a recorded stage: the ends of its colour bar.

#include <vector>

#include "engine/trace/trace.hpp"

namespace attn {

struct StageRange {
    StageId id;
    float lo = 0, hi = 0;     ///< both 0 when the stage has no finite unmasked number
    std::int64_t finite = 0;  ///< numbers counted
};

/// Counts more numbers of the stage: some rows of it, with their mask (null: none is masked).
void extend(StageRange& range, const Tensor<float>& rows, const Mask* mask);
StageRange stage_range(const RecordedStage<float>& stage);
/// Of every stage, in the trace's order.
std::vector<StageRange> stage_ranges(const Trace<float>& trace);

}  // namespace attn
