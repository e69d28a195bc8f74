#include "engine/trace/stage_range.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace attn {
namespace {

/// Independent minima and maxima side by side, so that the compiler can vectorize.
class Lanes {
public:
    /// Adds the numbers where `keep` is not 0; all of them if it is null.
    void add(const float* values, const std::uint8_t* keep, std::int64_t count) {
        for (; keep == nullptr && count >= kBlock; values += kBlock, count -= kBlock)
            if (!add_finite(values)) add_each(values, nullptr, kBlock);
        add_each(values, keep, count);
    }
    void extend(StageRange& range) const {
        for (std::int64_t lane = 0; lane < kCount; ++lane) {
            const auto at = static_cast<std::size_t>(lane);
            if (finite_[at] == 0) continue;
            // + 0 turns -0 into +0, so that the result does not depend on which lane saw which zero.
            range.lo = (range.finite == 0 ? lo_[at] : std::min(range.lo, lo_[at])) + 0.F;
            range.hi = (range.finite == 0 ? hi_[at] : std::max(range.hi, hi_[at])) + 0.F;
            range.finite += finite_[at];
        }
    }

private:
    static constexpr std::int64_t kCount = 16, kBlock = 64 * kCount;

    /// Adds kBlock numbers if all are finite, in a third of the time; otherwise adds nothing.
    bool add_finite(const float* values) {
        std::array<float, kCount> lo = lo_, hi = hi_, zero{};
        for (std::int64_t i = 0; i < kBlock; i += kCount)
            for (std::int64_t lane = 0; lane < kCount; ++lane) {
                const auto at = static_cast<std::size_t>(lane);
                const float value = values[i + lane];
                lo[at] = value < lo[at] ? value : lo[at];
                hi[at] = value > hi[at] ? value : hi[at];
                zero[at] += value * 0;  // NaN if not finite
            }
        if (std::any_of(zero.begin(), zero.end(), [](float sum) { return sum != 0; })) return false;
        lo_ = lo;
        hi_ = hi;
        for (std::int32_t& finite : finite_) finite += kBlock / kCount;
        return true;
    }
    void add_each(const float* values, const std::uint8_t* keep, std::int64_t count) {
        const std::int64_t rest = count % kCount, whole = count - rest;
        for (std::int64_t i = 0; i < whole; i += kCount)
            for (std::int64_t lane = 0; lane < kCount; ++lane) add(lane, values[i + lane], keep == nullptr || keep[i + lane] != 0);
        for (std::int64_t lane = 0; lane < rest; ++lane) add(lane, values[whole + lane], keep == nullptr || keep[whole + lane] != 0);
    }
    void add(std::int64_t lane, float value, bool allowed) {
        const auto at = static_cast<std::size_t>(lane);
        const bool counts = allowed && std::abs(value) <= std::numeric_limits<float>::max();
        lo_[at] = counts && value < lo_[at] ? value : lo_[at];
        hi_[at] = counts && value > hi_[at] ? value : hi_[at];
        finite_[at] += counts ? 1 : 0;
    }

    static constexpr float kInfinity = std::numeric_limits<float>::infinity();
    std::array<float, kCount> lo_ = filled(kInfinity), hi_ = filled(-kInfinity);
    std::array<std::int32_t, kCount> finite_{};
    static constexpr std::array<float, kCount> filled(float value) {
        std::array<float, kCount> all{};
        all.fill(value);
        return all;
    }
};

}  // namespace

void extend(StageRange& range, const Tensor<float>& rows, const Mask* mask) {
    if (mask == nullptr) {
        constexpr std::int64_t kAtATime = 1 << 30;  // lanes count in 32 bits
        for (std::int64_t first = 0; first < rows.size(); first += kAtATime) {
            Lanes lanes;
            lanes.add(rows.data() + first, nullptr, std::min(kAtATime, rows.size() - first));
            lanes.extend(range);
        }
        return;
    }
    const Shape& shape = rows.shape();
    const std::int64_t keys = shape[3].size;
    const float* row = rows.data();
    for (std::int64_t b = 0; b < shape[0].size; ++b)
        for (std::int64_t h = 0; h < shape[1].size; ++h) {
            Lanes lanes;
            for (std::int64_t t = 0; t < shape[2].size; ++t, row += keys) lanes.add(row, mask->keep_row(b, h, t), keys);
            lanes.extend(range);
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
