#include "app/widgets/plot_series.hpp"

#include <algorithm>
#include <cmath>

namespace attn::app {
namespace {

/// Fewer points than this have no hundredth to leave out.
constexpr std::size_t kEnoughForOutliers = 50;

EnvelopeColumn column_of(std::span<const double> x, std::span<const float> y, std::size_t first, std::size_t last) {
    EnvelopeColumn column{.x = x[last - 1], .gap = true};
    double sum = 0;
    std::size_t count = 0;
    for (std::size_t i = first; i < last; ++i) {
        if (!std::isfinite(y[i])) continue;
        column.min = count == 0 ? y[i] : std::min(column.min, y[i]);
        column.max = count == 0 ? y[i] : std::max(column.max, y[i]);
        sum += y[i];
        ++count;
    }
    column.gap = count == 0;
    if (count > 0) column.mean = static_cast<float>(sum / static_cast<double>(count));
    return column;
}

}  // namespace

void smooth_series(std::span<const float> y, double weight, std::vector<float>& out) {
    out.resize(y.size());
    double average = 0, gathered = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
        if (std::isfinite(y[i])) {
            average = weight * average + (1 - weight) * y[i];
            gathered = weight * gathered + (1 - weight);
            out[i] = static_cast<float>(average / gathered);
        } else {
            out[i] = y[i];
        }
    }
}

PointRange points_within(std::span<const double> x, double lo, double hi) {
    const auto first = std::lower_bound(x.begin(), x.end(), lo), last = std::upper_bound(first, x.end(), hi);
    PointRange range{static_cast<std::size_t>(first - x.begin()), static_cast<std::size_t>(last - x.begin())};
    if (range.first > 0) --range.first;
    if (range.last < x.size()) ++range.last;
    return range;
}

void envelope(std::span<const double> x, std::span<const float> y, PointRange range, std::size_t columns, bool log,
              std::vector<EnvelopeColumn>& out) {
    out.clear();
    if (range.size() == 0 || columns == 0) return;
    if (range.size() <= columns) {
        for (std::size_t i = range.first; i < range.last; ++i) out.push_back(column_of(x, y, i, i + 1));
        return;
    }
    const auto place = [log](double value) { return log ? std::log(value) : value; };
    const double lo = place(x[range.first]), width = (place(x[range.last - 1]) - lo) / static_cast<double>(columns);
    std::size_t first = range.first;
    for (std::size_t column = 1; column <= columns && first < range.last; ++column) {
        std::size_t last = first;
        const double end = lo + width * static_cast<double>(column);
        while (last < range.last && (column == columns || place(x[last]) < end)) ++last;
        if (last > first) out.push_back(column_of(x, y, first, last));
        first = last;
    }
}

std::size_t nearest_point(std::span<const double> x, double at) {
    const auto after = static_cast<std::size_t>(std::lower_bound(x.begin(), x.end(), at) - x.begin());
    if (after == 0) return 0;
    if (after == x.size()) return x.size() - 1;
    return at - x[after - 1] <= x[after] - at ? after - 1 : after;
}

Extent extent_of(std::span<const float> y, PointRange range, bool ignore_outliers) {
    std::vector<float> finite;
    finite.reserve(range.size());
    for (std::size_t i = range.first; i < range.last; ++i) {
        if (std::isfinite(y[i])) finite.push_back(y[i]);
    }
    if (finite.empty()) return {};
    if (!ignore_outliers || finite.size() < kEnoughForOutliers) {
        const auto [lo, hi] = std::minmax_element(finite.begin(), finite.end());
        return {*lo, *hi};
    }
    const auto rank = static_cast<std::ptrdiff_t>(finite.size() / 100);
    std::nth_element(finite.begin(), finite.begin() + rank, finite.end());
    const float lo = finite[static_cast<std::size_t>(rank)];
    const std::ptrdiff_t upper = static_cast<std::ptrdiff_t>(finite.size()) - 1 - rank;
    std::nth_element(finite.begin(), finite.begin() + upper, finite.end());
    return {lo, finite[static_cast<std::size_t>(upper)]};
}

}  // namespace attn::app
