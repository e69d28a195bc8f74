#pragma once
/// What happens to a curve's numbers before they are drawn: smoothing, and one column a pixel where there are more points than pixels.

#include <cstddef>
#include <span>
#include <vector>

namespace attn::app {

/// Exponential moving average, `weight` (0 to 1, exclusive) on what came before, divided by the weight gathered so far so that it does
/// not start at 0. Numbers that are not finite are left out of the average and stay as they are.
void smooth_series(std::span<const float> y, double weight, std::vector<float>& out);

/// Indices [first, last) of the points that lie in [lo, hi], and one more at either side so that lines reach the edges. `x` ascends.
struct PointRange {
    std::size_t first = 0, last = 0;
    std::size_t size() const { return last - first; }
};
PointRange points_within(std::span<const double> x, double lo, double hi);

/// All points of one pixel column.
struct EnvelopeColumn {
    double x = 0;  ///< of the column's last point
    float min = 0, max = 0, mean = 0;
    bool gap = false;  ///< no finite number in it: the line breaks
};

/// Points of the range gathered into columns of equal width in x (equal ratio where `log`), never losing a smallest or largest number.
/// With no more points than columns every point is its own column.
void envelope(std::span<const double> x, std::span<const float> y, PointRange range, std::size_t columns, bool log,
              std::vector<EnvelopeColumn>& out);

/// Index of the point nearest to `at`; x ascends and is not empty.
std::size_t nearest_point(std::span<const double> x, double at);

/// Smallest and largest finite number of the range; without the outermost hundredth at each end where `ignore_outliers`.
/// lo > hi when there is none.
struct Extent {
    double lo = 1, hi = -1;
    bool empty() const { return lo > hi; }
};
Extent extent_of(std::span<const float> y, PointRange range, bool ignore_outliers);

}  // namespace attn::app
