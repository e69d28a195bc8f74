#include "app/platform/gl_canvas.hpp"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace attn::app {

void GlCanvas::begin_frame(const HeatmapTheme& theme, int width, int height,
                           std::optional<std::chrono::steady_clock::duration> for_uploads) {
    jobs_.clear();
    fills_.clear();
    width_ = width;
    height_ = height;
    renderer_.begin_frame(theme, for_uploads);
}

/// The draw list's clip rectangle, limited to the framebuffer.
PixelRect GlCanvas::visible(const ImDrawList& list) const {
    const ImVec2 min = list.GetClipRectMin(), max = list.GetClipRectMax();
    return {std::max(min.x, 0.0F), std::max(min.y, 0.0F), std::min(max.x, static_cast<float>(width_)),
            std::min(max.y, static_cast<float>(height_))};
}

void GlCanvas::heatmap(ImDrawList& list, const ImVec2& min, const ImVec2& max, const HeatmapRequest& request) {
    PreparedHeatmap prepared = renderer_.prepare(request, {min.x, min.y, max.x, max.y}, visible(list));
    if (prepared.tiles.empty()) return;
    Job& job = jobs_.emplace_back(Job{this, std::move(prepared)});
    list.AddCallback(&GlCanvas::draw, &job);
    list.AddCallback(ImDrawCallback_ResetRenderState, nullptr);
}

void GlCanvas::draw(const ImDrawList*, const ImDrawCmd* command) {
    const Job& job = *static_cast<const Job*>(command->UserCallbackData);
    const GlCanvas& canvas = *job.canvas;
    // ImGui's coordinates are framebuffer pixels here. The backend does not set the scissor rectangle for callbacks.
    const ImVec4& clip = command->ClipRect;
    const int x0 = std::max(static_cast<int>(clip.x), 0), y0 = std::max(static_cast<int>(clip.y), 0);
    const int x1 = std::min(static_cast<int>(clip.z), canvas.width_), y1 = std::min(static_cast<int>(clip.w), canvas.height_);
    if (x0 >= x1 || y0 >= y1) return;
    glScissor(x0, canvas.height_ - y1, x1 - x0, y1 - y0);
    canvas.renderer_.draw(job.heatmap, canvas.width_, canvas.height_);
}

void GlCanvas::fill(ImDrawList& list, const ImVec2& min, const ImVec2& max, std::uint32_t color) {
    const PixelRect seen = visible(list);
    const PixelRect area{std::max(std::round(min.x), seen.x0), std::max(std::round(min.y), seen.y0), std::min(std::round(max.x), seen.x1),
                         std::min(std::round(max.y), seen.y1)};
    if (area.x0 >= area.x1 || area.y0 >= area.y1) return;
    list.AddCallback(&GlCanvas::clear, &fills_.emplace_back(Fill{this, area, color}));
}

void GlCanvas::clear(const ImDrawList*, const ImDrawCmd* command) {
    const Fill& fill = *static_cast<const Fill*>(command->UserCallbackData);
    const int x0 = static_cast<int>(fill.area.x0), y0 = static_cast<int>(fill.area.y0);
    const int x1 = static_cast<int>(fill.area.x1), y1 = static_cast<int>(fill.area.y1);
    glScissor(x0, fill.canvas->height_ - y1, x1 - x0, y1 - y0);
    const ImVec4 color = ImGui::ColorConvertU32ToFloat4(fill.color);
    glClearColor(color.x, color.y, color.z, 1);
    glClear(GL_COLOR_BUFFER_BIT);
}

}  // namespace attn::app
