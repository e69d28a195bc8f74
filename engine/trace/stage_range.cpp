#include "engine/trace/stage_range.hpp"

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

void extend(StageRange& range, float value) {
    if (!std::isfinite(value)) return;
    range.lo = range.finite == 0 ? value : std::min(range.lo, value);
    range.hi = range.finite == 0 ? value : std::max(range.hi, value);
    ++range.finite;
}

}  // namespace

void extend(StageRange& range, const Tensor<float>& rows, const Mask* mask) {
    if (mask == nullptr) {
        for (const float value : rows.values()) extend(range, value);
        return;
    }
    const Shape& shape = rows.shape();
    const std::int64_t keys = shape[3].size;
    const float* row = rows.data();
    for (std::int64_t b = 0; b < shape[0].size; ++b)
        for (std::int64_t h = 0; h < shape[1].size; ++h)
            for (std::int64_t t = 0; t < shape[2].size; ++t, row += keys) {
                const std::uint8_t* keep = mask->keep_row(b, h, t);
                for (std::int64_t s = 0; s < keys; ++s)
                    if (keep[s] != 0) extend(range, row[s]);
            }
}

StageRange stage_range(const RecordedStage<float>& stage) {
    StageRange range;
    range.id = stage.id;
    extend(range, stage.value, stage.mask.get());
    return range;
}

std::vector<StageRange> stage_ranges(const Trace<float>& trace) {
    std::vector<StageRange> ranges;
    ranges.reserve(trace.stages.size());
    for (const RecordedStage<float>& stage : trace.stages) ranges.push_back(stage_range(stage));
    return ranges;
}

}  // namespace attn
