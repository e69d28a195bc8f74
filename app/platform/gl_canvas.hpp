#pragma once

#include <chrono>
#include <deque>
#include <optional>

#include "app/render/heatmap_renderer.hpp"
#include "app/widgets/canvas.hpp"

struct ImDrawCmd;

namespace attn::app {

/// Draws heatmaps directly into the framebuffer, from callbacks in ImGui's draw lists.
class GlCanvas : public Canvas {
public:
    explicit GlCanvas(HeatmapRenderer& renderer) : renderer_(renderer) {}
    /// To be called once per frame before drawing; sizes in pixels. `for_uploads` as in HeatmapRenderer::begin_frame().
    void begin_frame(const HeatmapTheme& theme, int width, int height, std::optional<std::chrono::steady_clock::duration> for_uploads = {});
    void heatmap(ImDrawList& list, const ImVec2& min, const ImVec2& max, const HeatmapRequest& request) override;
    void fill(ImDrawList& list, const ImVec2& min, const ImVec2& max, std::uint32_t color) override;
    std::uint32_t color(const HeatmapStyle& style, float value) const override { return renderer_.color(style, value); }

private:
    struct Job {
        GlCanvas* canvas;
        PreparedHeatmap heatmap;
    };
    struct Fill {
        GlCanvas* canvas;
        PixelRect area;
        std::uint32_t color;
    };
    static void draw(const ImDrawList*, const ImDrawCmd* command);
    static void clear(const ImDrawList*, const ImDrawCmd* command);
    PixelRect visible(const ImDrawList& list) const;

    HeatmapRenderer& renderer_;
    std::deque<Job> jobs_;    ///< of the current frame; referenced by draw lists
    std::deque<Fill> fills_;  ///< likewise
    int width_ = 0, height_ = 0;
};

}  // namespace attn::app
