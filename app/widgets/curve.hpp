#pragma once
/// Append-only curves, stored so that drawing costs as much as the plot is wide, however many points there are.

#include <cstddef>
#include <span>
#include <vector>

namespace attn::app {

/// Indices [first, last) of a curve's points.
struct PointRange {
    std::size_t first = 0, last = 0;
    std::size_t size() const { return last - first; }
};

/// Statistics of several neighbouring points.
struct PointGroup {
    float min = 0, max = 0;
    double sum = 0;
    std::size_t count = 0;  ///< number of finite ones; 0: a gap in the line
    float mean() const { return static_cast<float>(sum / static_cast<double>(count)); }
};

/// Numbers with minimum, maximum and sum over any range; appending and querying both take logarithmic time. Non-finite numbers are skipped.
class Pyramid {
public:
    void append(float value);
    void clear();
    std::span<const float> values() const { return values_; }
    PointGroup gather(PointRange range) const;

private:
    std::vector<float> values_;
    std::vector<std::vector<PointGroup>> levels_;  // [0]: groups of 4 numbers, [1]: of 16, ...; the last group of a level may be incomplete
};

/// A curve over ascending x, optionally with an exponential moving average.
class Curve {
public:
    /// `x` must not be less than the previous one.
    void append(double x, float y);
    void clear();
    /// Sets the weight (0 to 0.999) of previous points in the moving average; 0: no average. The average is bias-corrected, so that it does
    /// not start at 0. Non-finite numbers are not averaged.
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

/// The points in [lo, hi], plus one on either side so that lines reach the edges. `x` must ascend.
PointRange points_within(std::span<const double> x, double lo, double hi);
/// The index of the point nearest to `at`. `x` must ascend and not be empty.
std::size_t nearest_point(std::span<const double> x, double at);

/// All points that fall into one pixel column.
struct EnvelopeColumn {
    double x = 0;  ///< of the last point
    float min = 0, max = 0, mean = 0;
    bool gap = false;  ///< no finite numbers: a gap in the line
};
/// Groups the range into columns of equal width in x (equal ratio if `log`), preserving every minimum and maximum. If there are no more
/// points than columns, each point becomes a column.
void envelope(std::span<const double> x, const Pyramid& y, PointRange range, std::size_t columns, bool log,
              std::vector<EnvelopeColumn>& out);

/// The smallest and largest finite number; lo > hi if there is none.
struct Extent {
    double lo = 1, hi = -1;
    bool empty() const { return lo > hi; }
};
/// The extent of a range. `ignore_outliers`: without the outermost per cent at each end, estimated from a sample.
Extent extent_of(const Pyramid& y, PointRange range, bool ignore_outliers);

}  // namespace attn::app
