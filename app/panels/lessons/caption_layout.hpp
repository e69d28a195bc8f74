#pragma once
/// Where the words and numbers of a caption stand: plain geometry, in pixels from the caption's corner.

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn::app {

/// Text, which breaks at its spaces, or what a quotation gives, which does not break.
struct CaptionRun {
    std::string text;
    std::optional<std::size_t> part;  ///< of the caption: a quotation
    bool cell = false;                ///< it stands in a box of its own, with padding at both sides
};

struct PlacedRun {
    std::string text;
    std::optional<std::size_t> part;
    bool cell = false;
    float x = 0, width = 0;  ///< with the padding
    std::size_t line = 0;
};

/// Pixels, and the width of a text without padding.
struct CaptionMeasures {
    float width = 0, space = 0, padding = 0;
    std::function<float(std::string_view)> text_width;
};

/// What no space parts stays on one line: a number and the quotation marks around it. What is wider than a line has one for itself.
std::vector<PlacedRun> lay_out_caption(std::span<const CaptionRun> runs, const CaptionMeasures& measures);
std::size_t lines_in(std::span<const PlacedRun> runs);

/// Boxes of these widths from left to right, in as many lines as they need.
struct PlacedBox {
    float x = 0;
    std::size_t line = 0;
};
std::vector<PlacedBox> lay_out_boxes(std::span<const float> widths, float gap, float room);

}  // namespace attn::app
