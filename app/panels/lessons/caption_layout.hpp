#pragma once
/// Lays out the words and numbers of a caption. Pure geometry, in pixels from the caption's corner.

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn::app {

/// Text that wraps at spaces, or a quotation that does not wrap.
struct CaptionRun {
    std::string text;
    std::optional<std::size_t> part;  ///< index of the quotation in the caption
    bool cell = false;                ///< drawn in a box with padding on both sides
};

struct PlacedRun {
    std::string text;
    std::optional<std::size_t> part;
    bool cell = false;
    float x = 0, width = 0;  ///< including padding
    std::size_t line = 0;
};

/// In pixels; text_width() excludes padding.
struct CaptionMeasures {
    float width = 0, space = 0, padding = 0;
    std::function<float(std::string_view)> text_width;
};

/// Wraps at spaces only, so that a number and the quotation marks around it stay together. A word wider than a line gets its own line.
std::vector<PlacedRun> lay_out_caption(std::span<const CaptionRun> runs, const CaptionMeasures& measures);
std::size_t lines_in(std::span<const PlacedRun> runs);

/// Lays out boxes of these widths from left to right, in as many lines as needed.
struct PlacedBox {
    float x = 0;
    std::size_t line = 0;
};
std::vector<PlacedBox> lay_out_boxes(std::span<const float> widths, float gap, float room);

}  // namespace attn::app
