#include "app/widgets/color_options.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/widgets/number.hpp"

namespace attn::app {
namespace {

/// Leaves headroom so that widened ranges and their differences stay finite.
constexpr float kLargest = std::numeric_limits<float>::max() / 4;

RangeMode effective(const ColorOptions& options, bool probability) {
    if (options.range != RangeMode::Auto) return options.range;
    return probability ? RangeMode::UnitRange : RangeMode::Symmetric;
}

/// Widens an empty range, so that a constant tensor still gets a bar.
void widen(float& lo, float& hi) {
    if (lo > hi) std::swap(lo, hi);
    lo = std::clamp(lo, -kLargest, kLargest);
    hi = std::clamp(hi, -kLargest, kLargest);
    if (lo < hi) return;
    const float margin = lo == 0 ? 1.0f : std::abs(lo) * 0.5f;
    lo -= margin;
    hi += margin;
}

}  // namespace

bool follows_numbers(const ColorOptions& options, bool probability) {
    switch (effective(options, probability)) {
    case RangeMode::UnitRange:
    case RangeMode::Manual:
        return false;
    default:
        return true;
    }
}

float most_of_weights(std::int64_t keys) { return keys > kManyKeys ? static_cast<float>(kManyKeys) / 2 / static_cast<float>(keys) : 1; }

HeatmapStyle resolve_style(const ColorOptions& options, bool probability, float lo, float hi, std::int64_t keys) {
    if (!std::isfinite(lo) || !std::isfinite(hi)) lo = hi = 0;
    if (lo > hi) std::swap(lo, hi);
    HeatmapStyle style;
    const bool from_to = effective(options, probability) == RangeMode::Manual && options.lo != -options.hi;
    // An asymmetric manual range needs a sequential map, since a diverging one would be symmetric.
    const ColorMap automatic = probability || from_to ? ColorMap::Sequential : ColorMap::Diverging;
    style.map = options.map != ColorMap::Auto ? options.map : automatic;
    style.log = options.log;
    float reach = std::max(std::abs(lo), std::abs(hi));
    if (options.range == RangeMode::Auto && keys > kManyKeys) reach = std::min(reach, most_of_weights(keys));
    switch (effective(options, probability)) {
    case RangeMode::Auto:
    case RangeMode::Symmetric:
        style.lo = -reach;
        style.hi = reach;
        break;
    case RangeMode::UnitRange:
        style.lo = 0;
        style.hi = options.range == RangeMode::Auto ? most_of_weights(keys) : 1;
        break;
    case RangeMode::Uniform:
        style.lo = 0;
        style.hi = keys > 0 ? std::min(4 / static_cast<float>(keys), 1.0f) : reach;
        break;
    case RangeMode::Row:
        style.per_row = true;
        [[fallthrough]];
    case RangeMode::Tensor:
        style.lo = lo;
        style.hi = hi;
        break;
    case RangeMode::Manual:
        style.lo = std::isfinite(options.lo) ? options.lo : 0;
        style.hi = std::isfinite(options.hi) ? options.hi : 0;
        break;
    }
    widen(style.lo, style.hi);
    if (style.map == ColorMap::Diverging) {
        // A diverging bar is symmetric, so its ends must be too.
        style.hi = std::max(std::abs(style.lo), std::abs(style.hi));
        style.lo = -style.hi;
    }
    return style;
}

std::string_view color_map_words(ColorMap map) {
    switch (map) {
    case ColorMap::Auto:
        return "automatic";
    case ColorMap::Sequential:
        return "blue";
    case ColorMap::Diverging:
        return "blue to orange";
    case ColorMap::Viridis:
        return "viridis";
    case ColorMap::Cividis:
        return "cividis";
    case ColorMap::Grey:
        return "grey";
    }
    return "";
}

std::string range_words(const ColorOptions& options, bool probability, float highest, bool capped, std::string_view of) {
    std::string words;
    const std::string end = format_number(static_cast<double>(highest), {.decimals = highest < 0.1F ? 3 : 2});
    switch (effective(options, probability)) {
    case RangeMode::Auto:
    case RangeMode::Symmetric:
        words = capped ? "± " + end : "largest " + std::string(of.empty() ? "here" : of);
        break;
    case RangeMode::UnitRange:
        words = highest != 1 ? "0 to " + end : "0 to 1";
        break;
    case RangeMode::Tensor:
        words = "all numbers";
        break;
    case RangeMode::Row:
        words = "each row";
        break;
    case RangeMode::Manual:
        words = "fixed";
        break;
    case RangeMode::Uniform:
        words = "to 4 × uniform";
        break;
    }
    return options.log ? words + ", log" : words;
}

}  // namespace attn::app
