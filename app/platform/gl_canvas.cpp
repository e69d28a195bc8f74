#include "app/platform/gl_canvas.hpp"

#include <imgui.h>

#include <algorithm>
#include <utility>

namespace attn::app {

void GlCanvas::begin_frame(const HeatmapTheme& theme, int width, int height) {
    jobs_.clear();
    width_ = width;
    height_ = height;
    renderer_.begin_frame(theme);
}

void GlCanvas::heatmap(ImDrawList& list, const ImVec2& min, const ImVec2& max, const HeatmapRequest& request) {
    const ImVec2 clip_min = list.GetClipRectMin(), clip_max = list.GetClipRectMax();
    const PixelRect visible{std::max(clip_min.x, 0.0F), std::max(clip_min.y, 0.0F), std::min(clip_max.x, static_cast<float>(width_)),
                            std::min(clip_max.y, static_cast<float>(height_))};
    PreparedHeatmap prepared = renderer_.prepare(request, {min.x, min.y, max.x, max.y}, visible);
    if (prepared.tiles.empty()) return;
    Job& job = jobs_.emplace_back(Job{this, std::move(prepared)});
    list.AddCallback(&GlCanvas::draw, &job);
    list.AddCallback(ImDrawCallback_ResetRenderState, nullptr);
}

void GlCanvas::draw(const ImDrawList*, const ImDrawCmd* command) {
    const Job& job = *static_cast<const Job*>(command->UserCallbackData);
    const GlCanvas& canvas = *job.canvas;
    // ImGui's coordinates are framebuffer pixels here; the backend sets the scissor for its own commands only.
    const ImVec4& clip = command->ClipRect;
    const int x0 = std::max(static_cast<int>(clip.x), 0), y0 = std::max(static_cast<int>(clip.y), 0);
    const int x1 = std::min(static_cast<int>(clip.z), canvas.width_), y1 = std::min(static_cast<int>(clip.w), canvas.height_);
    if (x0 >= x1 || y0 >= y1) return;
    glScissor(x0, canvas.height_ - y1, x1 - x0, y1 - y0);
    canvas.renderer_.draw(job.heatmap, canvas.width_, canvas.height_);
}

}  // namespace attn::app
