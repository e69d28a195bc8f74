#pragma once
/// The user's colour settings, and the heatmap style they give for a tensor.

#include <string>
#include <string_view>

#include "app/widgets/canvas.hpp"

namespace attn::app {

enum class RangeMode : std::uint8_t {
    Auto,       ///< 0 to 1 for probabilities, symmetric about 0 for signed numbers
    Symmetric,  ///< ± the largest magnitude
    UnitRange,  ///< 0 to 1
    Tensor,     ///< minimum to maximum
    Row,        ///< minimum to maximum of each row
    Manual,     ///< `lo` to `hi` below
    Uniform,    ///< 0 to four times the uniform weight
};
inline constexpr int kRangeModeCount = 7;

struct ColorOptions {
    ColorMap map = ColorMap::Auto;  ///< Auto: sequential for probabilities, diverging for signed numbers
    RangeMode range = RangeMode::Auto;
    bool log = false;
    float lo = -1, hi = 1;  ///< manual range
    bool operator==(const ColorOptions&) const = default;
};

/// With this many keys a uniform weight is hardly visible, so the automatic range of weights ends below 1.
inline constexpr std::int64_t kManyKeys = 24;

/// Whether the style depends on a tensor's numbers.
bool follows_numbers(const ColorOptions& options, bool probability);
/// The automatic end of the range for weights over this many keys: of a long text, nearly all weights are far below 1.
float most_of_weights(std::int64_t keys);
/// The style for a tensor whose finite numbers lie in [lo, hi] (in any order; NaN if there are none). Its range is always finite with lo <
/// hi. `keys`: the number of keys in a row of attention weights, or of differences between them; 0 for other
/// tensors.
HeatmapStyle resolve_style(const ColorOptions& options, bool probability, float lo, float hi, std::int64_t keys = 0);

std::string_view color_map_words(ColorMap map);
/// A short description of the range: "largest here", "0 to 1", "each row", with "log" added for a logarithmic scale.
/// `capped`: it ends before the largest difference. `of`: of what it is the largest, "of all heads"; "" for the shown numbers alone.
std::string range_words(const ColorOptions& options, bool probability, float highest = 1, bool capped = false, std::string_view of = {});

}  // namespace attn::app
