#pragma once
/// Maps numbers to positions on the colour bar and back, identically on the CPU and in the fragment shader.

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/widgets/canvas.hpp"

namespace attn::app {

/// A logarithmic scale without a positive lower end resolves numbers down to this fraction (1 / kLogReach) of the largest.
inline constexpr double kLogReach = 1e4;

/// With s = v - origin, the position is base + s * factor or, if logarithmic, base + sign(s) * log(1 + |s| * bend) * factor.
struct ValueScale {
    bool logarithmic = false;
    float origin = 0, bend = 0, factor = 0, base = 0;
};

inline ValueScale value_scale(const HeatmapStyle& style) {
    // On an empty range every number maps to the base. 1 / x stays finite so that no NaN arises.
    const auto inverse = [](double x) {
        return x > 0 ? static_cast<float>(std::min(1 / x, static_cast<double>(std::numeric_limits<float>::max()))) : 0.0F;
    };
    const double lo = style.lo, hi = style.hi;
    if (style.map == ColorMap::Diverging) {
        const double reach = std::max(std::abs(lo), std::abs(hi));
        if (!style.log) return {false, 0, 0, inverse(2 * reach), 0.5F};
        return {true, 0, inverse(reach / kLogReach), static_cast<float>(0.5 / std::log1p(kLogReach)), 0.5F};
    }
    if (!style.log) return {false, style.lo, 0, inverse(hi - lo), 0};
    if (lo > 0) return {true, style.lo, inverse(lo), inverse(std::log(hi / lo)), 0};  // 1 + (v - lo) / lo = v / lo
    return {true, style.lo, inverse((hi - lo) / kLogReach), static_cast<float>(1 / std::log1p(kLogReach)), 0};
}

/// Position on the colour bar, 0 to 1. `v` must not be NaN.
inline float place_of(const ValueScale& scale, float v) {
    const float s = v - scale.origin;
    const float t = scale.base + (scale.logarithmic ? std::copysign(std::log(1 + std::abs(s) * scale.bend), s) : s) * scale.factor;
    return t >= 1 ? 1.0F : t > 0 ? t : 0.0F;
}

/// The number at a position of the colour bar: the inverse of place_of(), for ticks and for the bar itself.
inline float value_at(const HeatmapStyle& style, float place) {
    const double lo = style.lo, hi = style.hi, t = std::clamp(place, 0.0F, 1.0F);
    if (style.map == ColorMap::Diverging) {
        const double reach = std::max(std::abs(lo), std::abs(hi)), s = 2 * t - 1;
        if (!style.log) return static_cast<float>(reach * s);
        return static_cast<float>(std::copysign(std::expm1(std::abs(s) * std::log1p(kLogReach)) * reach / kLogReach, s));
    }
    if (!style.log) return static_cast<float>(lo + (hi - lo) * t);
    if (lo > 0) return static_cast<float>(lo * std::pow(hi / lo, t));
    return static_cast<float>(lo + std::expm1(t * std::log1p(kLogReach)) * (hi - lo) / kLogReach);
}

/// The style of one row of a per-row heatmap, with the range of the row's finite unmasked numbers: minimum to maximum, or for a diverging
/// map ± the largest magnitude. `row` must be inside the matrix. A style that is not per-row is returned unchanged.
inline HeatmapStyle row_style(const HeatmapData& data, const HeatmapStyle& style, std::int64_t row) {
    if (!style.per_row) return style;
    float lo = std::numeric_limits<float>::infinity(), hi = -lo;
    for (std::int64_t col = 0; col < data.cols; ++col) {
        const float v = data.at(row, col);
        if (!std::isfinite(v) || (data.keep != nullptr && data.keep[row * data.cols + col] == 0)) continue;
        lo = std::min(lo, v);
        hi = std::max(hi, v);
    }
    HeatmapStyle own = style;
    own.per_row = false;
    if (lo > hi) lo = hi = 0;  // no finite numbers in this row
    if (style.map == ColorMap::Diverging) {
        hi = std::max(std::abs(lo), std::abs(hi));
        lo = -hi;
    }
    own.lo = lo;
    own.hi = hi;
    return own;
}

}  // namespace attn::app
