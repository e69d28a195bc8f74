#pragma once
/// A canvas that records heatmaps as cells, for vector graphics.

#include <deque>
#include <vector>

#include "app/widgets/canvas.hpp"

struct ImDrawCmd;

namespace attn::app {

/// A cell, or a block of cells where they are smaller than a pixel; the block shows its number of largest magnitude, as in the shader.
struct SvgCell {
    enum class Kind : std::uint8_t { Number, Masked, Nan, Infinite, MinusInfinite };
    float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
    std::uint32_t color = 0;  ///< for a Number
    Kind kind = Kind::Number;
};

struct SvgHeatmap {
    std::vector<SvgCell> cells;
};

/// Uses the colours of the on-screen canvas.
class SvgCanvas : public Canvas {
public:
    explicit SvgCanvas(const Canvas& colors) : colors_(colors) {}
    void heatmap(ImDrawList& list, const ImVec2& min, const ImVec2& max, const HeatmapRequest& request) override;
    std::uint32_t color(const HeatmapStyle& style, float value) const override { return colors_.color(style, value); }
    /// The heatmap that a draw list's callback marks; null for other callbacks.
    static const SvgHeatmap* heatmap_of(const ImDrawCmd& command);

private:
    const Canvas& colors_;
    std::deque<SvgHeatmap> heatmaps_;  ///< referenced by draw lists
};

}  // namespace attn::app
