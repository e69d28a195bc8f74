#include "app/session/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace attn::app {
namespace {

/// Calls `use` for every number that is not masked.
template <class Use>
void for_each_kept(std::span<const NumberGrid> parts, Use use) {
    for (const NumberGrid& data : parts) {
        for (std::int64_t row = 0; !data.empty() && row < data.rows; ++row) {
            const std::uint8_t* keep = data.keep != nullptr ? data.keep + row * data.cols : nullptr;
            for (std::int64_t col = 0; col < data.cols; ++col) {
                if (keep == nullptr || keep[col] != 0) use(data.at(row * data.row_stride + col * data.col_stride));
            }
        }
    }
}

}  // namespace

TensorStatistics statistics_of(std::span<const NumberGrid> parts) {
    TensorStatistics s;
    std::int64_t kept = 0, all = 0;
    for (const NumberGrid& data : parts)
        if (!data.empty()) all += data.rows * data.cols;
    double sum = 0;
    for_each_kept(parts, [&](float value) {
        ++kept;
        if (std::isnan(value)) {
            ++s.nan;
        } else if (std::isinf(value)) {
            ++s.infinite;
        } else {
            s.min = s.count == 0 ? value : std::min(s.min, value);
            s.max = s.count == 0 ? value : std::max(s.max, value);
            sum += value;
            ++s.count;
        }
    });
    s.masked = all - kept;
    if (s.empty()) return s;
    s.mean = sum / static_cast<double>(s.count);
    const double range = static_cast<double>(s.max) - s.min;
    double squares = 0;
    for_each_kept(parts, [&](float value) {
        if (!std::isfinite(value)) return;
        squares += (value - s.mean) * (value - s.mean);
        const double place = range > 0 ? (value - static_cast<double>(s.min)) / range * kHistogramBins : 0;
        ++s.histogram[static_cast<std::size_t>(std::clamp(static_cast<int>(place), 0, kHistogramBins - 1))];
    });
    s.deviation = std::sqrt(squares / static_cast<double>(s.count));
    return s;
}

TensorStatistics statistics_of(const RecordedStage<float>& stage) {
    const Shape& shape = stage.value.shape();
    const bool per_head = shape.rank() == 4;
    const std::int64_t heads = per_head ? shape[1].size : 1, cols = shape[shape.rank() - 1].size;
    const std::int64_t rows = shape.rank() == 2 ? 1 : shape[shape.rank() - 2].size;
    const bool masked = stage.mask != nullptr && !stage.mask->allows_everything();
    std::vector<NumberGrid> parts;
    for (std::int64_t b = 0; b < shape[0].size; ++b)
        for (std::int64_t h = 0; h < heads; ++h)
            parts.push_back(
                {stage.value.data() + (b * heads + h) * rows * cols, rows, cols, cols, masked ? stage.mask->keep_row(b, h, 0) : nullptr});
    return statistics_of(parts);
}

}  // namespace attn::app
