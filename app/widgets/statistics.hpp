#pragma once
/// What the numbers of a matrix are like, at a glance.

#include <array>
#include <cstdint>
#include <span>

#include "app/widgets/canvas.hpp"

namespace attn::app {

inline constexpr int kHistogramBins = 24;

struct TensorStatistics {
    std::int64_t count = 0;              ///< finite and kept: what the figures below are about
    std::int64_t masked = 0;             ///< whatever their numbers are
    std::int64_t nan = 0, infinite = 0;  ///< among the kept ones
    float min = 0, max = 0;              ///< 0 where count is 0
    double mean = 0;
    double deviation = 0;  ///< standard deviation of all of them (divided by count)
    std::array<std::int64_t, kHistogramBins>
        histogram{};  ///< equal bins from min to max, the last with its end; one bin where all are equal
    bool empty() const { return count == 0; }
};

/// Statistics of rows × cols numbers in two passes; the caller keeps the result as long as the data's key stays the same.
TensorStatistics compute_statistics(const HeatmapData& data);
/// Of several matrices taken together, such as the heads and sequences of one tensor.
TensorStatistics compute_statistics(std::span<const HeatmapData> parts);

}  // namespace attn::app
