#pragma once
/// Heatmaps noted down as cells, for a picture made of shapes instead of pixels.

#include <deque>
#include <vector>

#include "app/widgets/canvas.hpp"

struct ImDrawCmd;

namespace attn::app {

/// One cell, or where cells are smaller than a pixel a block of them, which shows the number of largest magnitude as the shader does.
struct SvgCell {
    enum class Kind : std::uint8_t { Number, Masked, Nan, Infinite, MinusInfinite };
    float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
    std::uint32_t color = 0;  ///< of a Number
    Kind kind = Kind::Number;
};

struct SvgHeatmap {
    std::vector<SvgCell> cells;
};

/// Takes its colours from the canvas that draws on screen.
class SvgCanvas : public Canvas {
public:
    explicit SvgCanvas(const Canvas& colors) : colors_(colors) {}
    void heatmap(ImDrawList& list, const ImVec2& min, const ImVec2& max, const HeatmapRequest& request) override;
    std::uint32_t color(const HeatmapStyle& style, float value) const override { return colors_.color(style, value); }
    /// What a draw list's callback stands for; null when it is not one of ours.
    static const SvgHeatmap* heatmap_of(const ImDrawCmd& command);

private:
    const Canvas& colors_;
    std::deque<SvgHeatmap> heatmaps_;  ///< draw lists point at them
};

}  // namespace attn::app
