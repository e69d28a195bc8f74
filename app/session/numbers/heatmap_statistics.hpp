#pragma once
/// Statistics of heatmap data.

#include <span>
#include <vector>

#include "app/session/numbers/heatmap_data.hpp"
#include "app/session/values/statistics.hpp"

namespace attn::app {

inline NumberGrid grid_of(const HeatmapData& data) {
    return {data.values, data.rows, data.cols, data.row_stride, data.keep, data.col_stride, data.stored, data.first, data.read};
}

/// Statistics of several matrices together. The caller should cache the result as long as the data's keys stay the same.
inline TensorStatistics compute_statistics(std::span<const HeatmapData> parts) {
    std::vector<NumberGrid> grids;
    for (const HeatmapData& data : parts) grids.push_back(grid_of(data));
    return statistics_of(grids);
}
inline TensorStatistics compute_statistics(const HeatmapData& data) { return compute_statistics(std::span(&data, 1)); }

}  // namespace attn::app
