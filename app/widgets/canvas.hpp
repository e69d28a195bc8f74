#pragma once
/// The seam between panels and the GPU: panels ask for heatmaps, the canvas draws them. A test's canvas only notes what was asked.

#include <cstdint>

struct ImDrawList;
struct ImVec2;

namespace attn::app {

enum class ColorMap : std::uint8_t { Auto, Sequential, Diverging, Viridis, Cividis, Grey };
inline constexpr int kColorMapCount = 6;

/// One matrix of numbers, row-major.
struct HeatmapData {
    std::uint64_t key = 0;  ///< identity of the numbers: they are uploaded once per key
    const float* values = nullptr;
    std::int64_t rows = 0, cols = 0;
    std::int64_t row_stride = 0;         ///< distance between rows, in numbers
    const std::uint8_t* keep = nullptr;  ///< [rows, cols] bytes, 0 = masked; null when nothing is masked
};

/// How numbers become colours. `lo` and `hi` are the ends of the colour bar.
struct HeatmapStyle {
    ColorMap map = ColorMap::Sequential;  ///< never Auto here
    float lo = 0, hi = 1;
    bool per_row = false;  ///< every row has its own range; lo and hi then only say whether it is symmetric (lo == -hi)
    bool log = false;      ///< logarithmic; signed maps use a symmetric logarithm
};

struct HeatmapRequest {
    HeatmapData data;
    HeatmapStyle style;
    /// The part shown, in cells; default is everything.
    float first_col = 0, last_col = 0, first_row = 0, last_row = 0;
};

class Canvas {
public:
    virtual ~Canvas() = default;
    /// Draws into [min, max] of the list, in the order of the list's other contents.
    virtual void heatmap(ImDrawList& list, const ImVec2& min, const ImVec2& max, const HeatmapRequest& request) = 0;
    /// Colour of one value as the shader draws it (0xAABBGGRR), for legible ink and exports.
    virtual std::uint32_t color(const HeatmapStyle& style, float value) const = 0;
};

}  // namespace attn::app
