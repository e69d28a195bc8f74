#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "app/widgets/heatmap_geometry.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

struct Frame {
    ImVec2 min, max;
};

/// A range rounded to whole pixels, at least one, and clipped to min..max; empty if it lies outside.
std::pair<float, float> pixels_of(float from, float to, float min, float max) {
    if (to <= min || from >= max) return {min, min};
    const float first = std::min(std::round(from), max - 1);
    return {std::max(min, first), std::min(max, std::max(std::round(to), first + 1))};
}

/// The frame of a row, column or cell, clipped to the visible part and rounded to whole pixels.
Frame frame_of(const HeatmapGeometry& g, std::int64_t row, std::int64_t col) {
    Frame frame{g.min, g.max};
    if (col >= 0) {
        const auto x = static_cast<double>(col);
        std::tie(frame.min.x, frame.max.x) = pixels_of(g.x_of(x), g.x_of(x + 1), g.min.x, g.max.x);
    }
    if (row >= 0) {
        const auto y = static_cast<double>(row);
        std::tie(frame.min.y, frame.max.y) = pixels_of(g.y_of(y), g.y_of(y + 1), g.min.y, g.max.y);
    }
    return frame;
}

bool visible(const Frame& frame) { return frame.max.x > frame.min.x && frame.max.y > frame.min.y; }

/// Draws a frame around the cells rather than over them.
void draw_frame(ImDrawList& list, const Frame& frame, Color color, float thickness) {
    const float half = thickness / 2;
    list.AddRect(ImVec2(frame.min.x - half, frame.min.y - half), ImVec2(frame.max.x + half, frame.max.y + half), color, 0, 0, thickness);
}

/// The line width scales with the cells, so that small ones are not covered.
float line_for(const Ui& ui, const HeatmapGeometry& g, float logical) {
    const float cell = std::min(g.cell_w(), g.cell_h());
    const float thinnest = std::max(1.0f, ui.px(1));
    return std::clamp(cell * 0.25f, thinnest, std::max(thinnest, ui.px(logical)));
}

bool inside(std::int64_t i, std::int64_t n) { return i >= 0 && i < n; }

}  // namespace

void draw_dropped_cells(const Ui& ui, ImDrawList& list, const HeatmapGeometry& g, const HeatmapData& data) {
    constexpr float kLeastCell = 5, kInset = 0.22F;
    if (std::min(g.cell_w(), g.cell_h()) < ui.px(kLeastCell)) return;
    const Color ink = with_alpha(ui.colors().muted, 0.9F);
    const float line = line_for(ui, g, 1), x = kInset * g.cell_w(), y = kInset * g.cell_h();
    list.PushClipRect(g.min, g.max, true);
    for (std::int64_t row = g.first_row(); row < g.end_row(); ++row)
        for (std::int64_t col = g.first_col(); col < g.end_col(); ++col) {
            if (!data.knows(row, col) || data.masked(row, col) || data.at(row, col) != 0) continue;
            const ImVec2 min{g.x_of(static_cast<double>(col)) + x, g.y_of(static_cast<double>(row)) + y};
            const ImVec2 max{g.x_of(static_cast<double>(col) + 1) - x, g.y_of(static_cast<double>(row) + 1) - y};
            list.AddLine(min, max, ink, line);
            list.AddLine({min.x, max.y}, {max.x, min.y}, ink, line);
        }
    list.PopClipRect();
}

void draw_heatmap_marks(const Ui& ui, ImDrawList& list, const HeatmapGeometry& g, const HeatmapMarks& marks) {
    const Palette& c = ui.colors();
    const bool hover_row = inside(marks.hover_row, g.row_count), hover_col = inside(marks.hover_col, g.col_count);
    if (hover_row || hover_col) {
        const Frame frame = frame_of(g, hover_row ? marks.hover_row : -1, hover_col ? marks.hover_col : -1);
        if (visible(frame)) {
            draw_frame(list, frame, with_alpha(c.pane, 0.8f), line_for(ui, g, 3));
            draw_frame(list, frame, with_alpha(c.text, 0.85f), std::max(1.0f, ui.px(1)));
        }
    }
    const bool row = inside(marks.row, g.row_count), col = inside(marks.col, g.col_count);
    if (row && col) {
        const Color faint = with_alpha(c.chosen, 0.55f);
        const Frame row_strip = frame_of(g, marks.row, -1), col_strip = frame_of(g, -1, marks.col);
        if (visible(row_strip)) draw_frame(list, row_strip, faint, line_for(ui, g, 1.5f));
        if (visible(col_strip)) draw_frame(list, col_strip, faint, line_for(ui, g, 1.5f));
    }
    if (!row && !col) return;
    const Frame chosen = frame_of(g, row ? marks.row : -1, col ? marks.col : -1);
    if (!visible(chosen)) return;
    // A rim in the pane's colour separates the frame from cells of similar lightness.
    const float line = line_for(ui, g, row && col ? 3 : 2);
    draw_frame(list, chosen, with_alpha(c.pane, 0.7f), line + std::max(1.0f, ui.px(1.5f)));
    draw_frame(list, chosen, c.chosen, line);
}

}  // namespace attn::app
