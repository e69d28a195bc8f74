#include "app/widgets/curve.hpp"

#include <algorithm>
#include <cmath>

namespace attn::app {
namespace {

constexpr std::size_t kFan = 4;  // branching factor of the pyramid
/// With fewer points, cutting off one per cent of them removes nothing.
constexpr std::size_t kEnoughForOutliers = 50;
/// How many points are sampled to find the outermost per cent.
constexpr std::size_t kSampled = 2000;

void merge(PointGroup& into, const PointGroup& more) {
    if (more.count == 0) return;
    into.min = into.count == 0 ? more.min : std::min(into.min, more.min);
    into.max = into.count == 0 ? more.max : std::max(into.max, more.max);
    into.sum += more.sum;
    into.count += more.count;
}

PointGroup single(float value) { return std::isfinite(value) ? PointGroup{value, value, value, 1} : PointGroup{}; }

EnvelopeColumn column_of(double x, const PointGroup& group) {
    if (group.count == 0) return {.x = x, .gap = true};
    // Rounding of a large sum could move the mean outside the range.
    return {.x = x, .min = group.min, .max = group.max, .mean = std::clamp(group.mean(), group.min, group.max)};
}

}  // namespace

void Pyramid::append(float value) {
    const std::size_t index = values_.size();
    values_.push_back(value);
    const PointGroup point = single(value);
    std::size_t group = index / kFan;
    for (std::size_t level = 0; level == 0 || group > 0; ++level, group /= kFan) {
        if (level == levels_.size()) {
            // The first group of a new level covers everything the level below holds so far.
            levels_.emplace_back();
            if (level > 0) {
                PointGroup first;
                for (std::size_t i = 0; i < std::min(kFan, levels_[level - 1].size()); ++i) merge(first, levels_[level - 1][i]);
                levels_[level].push_back(first);
            }
        }
        std::vector<PointGroup>& groups = levels_[level];
        if (group == groups.size()) groups.emplace_back();
        merge(groups[group], point);
    }
}

void Pyramid::clear() {
    values_.clear();
    levels_.clear();
}

PointGroup Pyramid::gather(PointRange range) const {
    PointGroup all;
    std::size_t first = range.first, last = std::min(range.last, values_.size());
    const auto edges = [&](const auto& at) {
        while (first < last && first % kFan != 0) merge(all, at(first++));
        while (first < last && last % kFan != 0) merge(all, at(--last));
    };
    edges([&](std::size_t i) { return single(values_[i]); });
    for (std::size_t level = 0; first < last; ++level) {
        first /= kFan;
        last /= kFan;
        if (level + 1 < levels_.size()) {
            edges([&](std::size_t i) { return levels_[level][i]; });
        } else {
            while (first < last) merge(all, levels_[level][first++]);
        }
    }
    return all;
}

void Curve::append(double x, float y) {
    x_.push_back(x);
    raw_.append(y);
    if (weight_ > 0) append_smoothed(y);
}

void Curve::clear() {
    x_.clear();
    raw_.clear();
    smoothed_.clear();
    average_ = gathered_ = 0;
}

void Curve::smooth(double weight) {
    weight = std::clamp(weight, 0.0, 0.999);
    if (weight == weight_) return;
    weight_ = weight;
    smoothed_.clear();
    average_ = gathered_ = 0;
    if (weight_ == 0) return;
    for (const float y : raw_.values()) append_smoothed(y);
}

void Curve::append_smoothed(float y) {
    if (!std::isfinite(y)) return smoothed_.append(y);
    average_ = weight_ * average_ + (1 - weight_) * static_cast<double>(y);
    gathered_ = weight_ * gathered_ + (1 - weight_);
    smoothed_.append(static_cast<float>(average_ / gathered_));
}

PointRange points_within(std::span<const double> x, double lo, double hi) {
    const auto first = std::lower_bound(x.begin(), x.end(), lo), last = std::upper_bound(first, x.end(), hi);
    PointRange range{static_cast<std::size_t>(first - x.begin()), static_cast<std::size_t>(last - x.begin())};
    if (range.first > 0) --range.first;
    if (range.last < x.size()) ++range.last;
    return range;
}

std::size_t nearest_point(std::span<const double> x, double at) {
    const auto after = static_cast<std::size_t>(std::lower_bound(x.begin(), x.end(), at) - x.begin());
    if (after == 0) return 0;
    if (after == x.size()) return x.size() - 1;
    return at - x[after - 1] <= x[after] - at ? after - 1 : after;
}

void envelope(std::span<const double> x, const Pyramid& y, PointRange range, std::size_t columns, bool log,
              std::vector<EnvelopeColumn>& out) {
    out.clear();
    if (range.size() == 0 || columns == 0) return;
    if (range.size() <= columns) {
        for (std::size_t i = range.first; i < range.last; ++i) out.push_back(column_of(x[i], single(y.values()[i])));
        return;
    }
    const auto place = [log](double value) { return log ? std::log(value) : value; };
    const double lo = place(x[range.first]), width = (place(x[range.last - 1]) - lo) / static_cast<double>(columns);
    std::size_t first = range.first;
    for (std::size_t column = 1; column <= columns && first < range.last; ++column) {
        const double end = lo + width * static_cast<double>(column);
        const auto begin = x.begin() + static_cast<std::ptrdiff_t>(first), stop = x.begin() + static_cast<std::ptrdiff_t>(range.last);
        const auto found = column == columns ? stop : std::lower_bound(begin, stop, log ? std::exp(end) : end);
        const auto last = static_cast<std::size_t>(found - x.begin());
        if (last > first) out.push_back(column_of(x[last - 1], y.gather({first, last})));
        first = last;
    }
}

Extent extent_of(const Pyramid& y, PointRange range, bool ignore_outliers) {
    const PointGroup all = y.gather(range);
    if (all.count == 0) return {};
    if (!ignore_outliers || all.count < kEnoughForOutliers) return {all.min, all.max};
    std::vector<float> finite;
    const std::size_t apart = std::max<std::size_t>(range.size() / kSampled, 1);
    finite.reserve(range.size() / apart + 1);
    for (std::size_t i = range.first; i < range.last; i += apart)
        if (std::isfinite(y.values()[i])) finite.push_back(y.values()[i]);
    if (finite.empty()) return {all.min, all.max};
    const auto rank = static_cast<std::ptrdiff_t>(finite.size() / 100);
    std::nth_element(finite.begin(), finite.begin() + rank, finite.end());
    const float lo = finite[static_cast<std::size_t>(rank)];
    const std::ptrdiff_t upper = static_cast<std::ptrdiff_t>(finite.size()) - 1 - rank;
    std::nth_element(finite.begin(), finite.begin() + upper, finite.end());
    return {lo, finite[static_cast<std::size_t>(upper)]};
}

}  // namespace attn::app
