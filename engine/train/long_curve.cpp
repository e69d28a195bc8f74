#include "engine/train/long_curve.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>
#include <utility>

namespace attn {
namespace {

/// Points kept in every octave (steps n to 2n) whatever the spacing: over all octaves together at most a quarter of the curve.
std::int64_t points_an_octave(std::size_t most) {
    constexpr std::size_t kOctaves = std::numeric_limits<std::int64_t>::digits;
    return static_cast<std::int64_t>(std::max(std::bit_floor(most / (4 * (kOctaves + 1))), std::size_t{1}));
}

template <class Point>
void thin_out(std::vector<Point>& curve, std::size_t most) {
    const std::int64_t octave = points_an_octave(most);
    const auto stays = [&](const Point& point, std::int64_t spacing) {
        const auto closest = std::bit_floor(static_cast<std::uint64_t>(std::max(point.step / octave, INT64_C(1))));
        return point.step % std::min(spacing, static_cast<std::int64_t>(closest)) == 0;
    };
    const auto first = curve.begin() + 1, newer = curve.end() - static_cast<std::ptrdiff_t>(most / 2);
    std::int64_t spacing = 1;
    const auto staying = [&] {
        return static_cast<std::size_t>(std::count_if(first, newer, [&](const Point& point) { return stays(point, spacing); }));
    };
    constexpr std::int64_t kWidest = INT64_C(1) << 62;
    while (spacing < kWidest && staying() > most / 4) spacing *= 2;
    curve.erase(std::remove_if(first, newer, [&](const Point& point) { return !stays(point, spacing); }), newer);
}

template <class Point>
void add(std::vector<Point>& curve, Point point, std::size_t most) {
    curve.push_back(std::move(point));
    if (curve.size() > most) thin_out(curve, most);
}

}  // namespace

void add_point(std::vector<LossPoint>& curve, LossPoint point) { add(curve, point, kMostCurvePoints); }

void add_point(std::vector<ValidationPoint>& curve, ValidationPoint point) { add(curve, std::move(point), kMostCurvePoints); }

void add_point(std::vector<HeadPoint>& curve, HeadPoint point) {
    const std::size_t rows = std::max<std::size_t>(point.scores.size(), 1);
    add(curve, std::move(point), std::max(kMostCurvePoints / rows, kFewestHeadPoints));
}

}  // namespace attn
