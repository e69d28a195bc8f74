#pragma once
/// Curves that only grow, kept so that drawing one costs as much as the plot is wide, however long the run is.

#include <cstddef>
#include <span>
#include <vector>

namespace attn::app {

/// Indices [first, last) of a curve's points.
struct PointRange {
    std::size_t first = 0, last = 0;
    std::size_t size() const { return last - first; }
};

/// Several neighbouring points as one.
struct PointGroup {
    float min = 0, max = 0;
    double sum = 0;
    std::size_t count = 0;  ///< finite ones; 0: the line breaks here
    float mean() const { return static_cast<float>(sum / static_cast<double>(count)); }
};

/// Numbers with their smallest, largest and sum over any range: an appended number and a question each take time in the logarithm of
/// their count. Numbers that are not finite are left out.
class Pyramid {
public:
    void append(float value);
    void clear();
    std::span<const float> values() const { return values_; }
    PointGroup gather(PointRange range) const;

private:
    std::vector<float> values_;
    std::vector<std::vector<PointGroup>> levels_;  // [0]: groups of 4 numbers, [1]: of 16, ...; the last of each may be unfinished
};

/// Numbers against an ascending x, with an exponential moving average if one is asked for.
class Curve {
public:
    /// `x` is not below the one before.
    void append(double x, float y);
    void clear();
    /// Weight (0 to 0.999) of what came before in the moving average, which is divided by the weight gathered so far so that it does not
    /// start at 0; 0: none. Numbers that are not finite are left out of the average and stay as they are.
    void smooth(double weight);
    double smoothing() const { return weight_; }

    bool empty() const { return x_.empty(); }
    std::size_t size() const { return x_.size(); }
    std::span<const double> x() const { return x_; }
    const Pyramid& raw() const { return raw_; }
    const Pyramid& smoothed() const { return weight_ > 0 ? smoothed_ : raw_; }

private:
    void append_smoothed(float y);
    std::vector<double> x_;
    Pyramid raw_, smoothed_;
    double weight_ = 0, average_ = 0, gathered_ = 0;
};

/// Points that lie in [lo, hi], and one more at either side so that lines reach the edges. `x` ascends.
PointRange points_within(std::span<const double> x, double lo, double hi);
/// Index of the point nearest to `at`; x ascends and is not empty.
std::size_t nearest_point(std::span<const double> x, double at);

/// All points of one pixel column.
struct EnvelopeColumn {
    double x = 0;  ///< of the column's last point
    float min = 0, max = 0, mean = 0;
    bool gap = false;  ///< no finite number in it: the line breaks
};
/// Points of the range gathered into columns of equal width in x (equal ratio where `log`), never losing a smallest or largest number.
/// With no more points than columns every point is its own column.
void envelope(std::span<const double> x, const Pyramid& y, PointRange range, std::size_t columns, bool log,
              std::vector<EnvelopeColumn>& out);

/// Smallest and largest finite number; lo > hi when there is none.
struct Extent {
    double lo = 1, hi = -1;
    bool empty() const { return lo > hi; }
};
/// Of a range; without the outermost hundredth at each end (judged by some thousand of its points) where `ignore_outliers`.
Extent extent_of(const Pyramid& y, PointRange range, bool ignore_outliers);

}  // namespace attn::app
