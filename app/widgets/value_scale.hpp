#pragma once
/// From a number to its place on the colour bar and back, the same on the CPU and in the fragment shader.

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/widgets/canvas.hpp"

namespace attn::app {

/// Values are those of u_scale_kind in heatmap.frag.
enum class ScaleKind : int { Linear = 0, Log = 1, LogPlusOne = 2, Symmetric = 3, SymmetricLog = 4 };

/// How far below the largest number a logarithmic scale without a positive lower end still tells numbers apart.
inline constexpr double kLogReach = 1e4;

/// Linear: (v - origin) * factor. Log: log(v / origin) * factor. LogPlusOne: log(1 + (v - origin) * bend) * factor.
/// Symmetric: 1/2 + v * factor. SymmetricLog: 1/2 + sign(v) * log(1 + |v| * bend) * factor.
struct ValueScale {
    ScaleKind kind = ScaleKind::Linear;
    float origin = 0, bend = 0, factor = 0;
};

namespace detail {
/// 1 / x that stays finite, so that a scale without extent puts everything at its start instead of making NaN.
inline float inverse(double x) {
    return x > 0 ? static_cast<float>(std::min(1 / x, static_cast<double>(std::numeric_limits<float>::max()))) : 0.0F;
}
}  // namespace detail

inline ValueScale value_scale(const HeatmapStyle& style) {
    const double lo = style.lo, hi = style.hi;
    if (style.map == ColorMap::Diverging) {
        const double reach = std::max(std::abs(lo), std::abs(hi));
        if (!style.log) return {ScaleKind::Symmetric, 0, 0, detail::inverse(2 * reach)};
        return {ScaleKind::SymmetricLog, 0, detail::inverse(reach / kLogReach), static_cast<float>(0.5 / std::log1p(kLogReach))};
    }
    if (!style.log) return {ScaleKind::Linear, style.lo, 0, detail::inverse(hi - lo)};
    if (lo > 0) return {ScaleKind::Log, style.lo, 0, detail::inverse(std::log(hi / lo))};
    return {ScaleKind::LogPlusOne, style.lo, detail::inverse((hi - lo) / kLogReach), static_cast<float>(1 / std::log1p(kLogReach))};
}

/// Place on the colour bar, 0 to 1. `v` is not NaN; infinities are at the ends.
inline float place_of(const ValueScale& scale, float v) {
    float t = 0;
    switch (scale.kind) {
    case ScaleKind::Linear:
        t = (v - scale.origin) * scale.factor;
        break;
    case ScaleKind::Log:
        t = v > scale.origin ? std::log(v / scale.origin) * scale.factor : 0.0F;
        break;
    case ScaleKind::LogPlusOne:
        t = std::log(1 + std::max(v - scale.origin, 0.0F) * scale.bend) * scale.factor;
        break;
    case ScaleKind::Symmetric:
        t = 0.5F + v * scale.factor;
        break;
    case ScaleKind::SymmetricLog:
        t = 0.5F + std::copysign(std::log(1 + std::abs(v) * scale.bend) * scale.factor, v);
        break;
    }
    return std::clamp(t, 0.0F, 1.0F);
}

/// The number at a place of the colour bar: the inverse of place_of, for ticks and the bar itself.
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

/// The style of one row of a per-row heatmap, with that row's own range over its kept finite numbers: least to largest, or for a
/// diverging map ± the largest magnitude. `row` is inside the matrix. A style that is not per row comes back as it is.
inline HeatmapStyle row_style(const HeatmapData& data, const HeatmapStyle& style, std::int64_t row) {
    if (!style.per_row) return style;
    float lo = std::numeric_limits<float>::infinity(), hi = -lo;
    for (std::int64_t col = 0; col < data.cols; ++col) {
        const float v = data.values[row * data.row_stride + col];
        if (!std::isfinite(v) || (data.keep != nullptr && data.keep[row * data.cols + col] == 0)) continue;
        lo = std::min(lo, v);
        hi = std::max(hi, v);
    }
    HeatmapStyle own = style;
    own.per_row = false;
    if (lo > hi) lo = hi = 0;  // nothing to measure in this row
    if (style.map == ColorMap::Diverging) {
        hi = std::max(std::abs(lo), std::abs(hi));
        lo = -hi;
    }
    own.lo = lo;
    own.hi = hi;
    return own;
}

}  // namespace attn::app
