#pragma once
/// How the person wants numbers coloured, and the style that follows for a tensor.

#include <string>
#include <string_view>

#include "app/widgets/canvas.hpp"

namespace attn::app {

enum class RangeMode : std::uint8_t {
    Auto,       ///< 0..1 for probabilities, symmetric about 0 for signed numbers
    Symmetric,  ///< ± the largest magnitude
    UnitRange,  ///< 0..1
    Tensor,     ///< smallest to largest
    Row,        ///< every row by itself
    Manual,     ///< lo to hi below
    Uniform,    ///< 0 to four times what an even share would be
};
inline constexpr int kRangeModeCount = 7;

struct ColorOptions {
    ColorMap map = ColorMap::Auto;  ///< Auto: sequential for probabilities, diverging for signed numbers
    RangeMode range = RangeMode::Auto;
    bool log = false;
    float lo = -1, hi = 1;  ///< manual range
    bool operator==(const ColorOptions&) const = default;
};

/// Over so many keys an even share is hard to tell from nothing: the automatic range of weights then ends below 1.
inline constexpr std::int64_t kManyKeys = 24;

/// The style of a tensor whose finite numbers lie in [lo, hi] (any order or NaN where there are none). Its own lo < hi always, finite.
/// `keys`: over how many a row of weights is spread; 0 for all else.
HeatmapStyle resolve_style(const ColorOptions& options, bool probability, float lo, float hi, std::int64_t keys = 0);

std::string_view color_map_words(ColorMap map);
/// What the range is in a word or two: "± largest", "0 to 1", "each row"; with "log" where it is.
std::string range_words(const ColorOptions& options, bool probability, float highest = 1);

}  // namespace attn::app
