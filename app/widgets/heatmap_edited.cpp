#include <algorithm>

#include "app/widgets/heatmap_geometry.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kSmallestCorner = 5;

struct Bounds {
    std::int64_t first_row, first_col, last_row = -1, last_col = -1;
    bool any() const { return last_row >= 0; }
    void include(std::int64_t row, std::int64_t col) {
        first_row = std::min(first_row, row), first_col = std::min(first_col, col);
        last_row = std::max(last_row, row), last_col = std::max(last_col, col);
    }
};

/// A triangle in the upper right corner, with a rim in the pane's colour so that it is visible on light and dark cells.
void draw_corner(const Ui& ui, ImDrawList& list, ImVec2 corner, float size) {
    const Palette& c = ui.colors();
    const float rim = std::max(1.0f, ui.px(1));
    list.AddTriangleFilled({corner.x - size - rim * 2, corner.y}, corner, {corner.x, corner.y + size + rim * 2}, c.pane);
    list.AddTriangleFilled({corner.x - size, corner.y}, corner, {corner.x, corner.y + size}, c.text);
}

void draw_frame(const Ui& ui, ImDrawList& list, const HeatmapGeometry& g, const Bounds& cells, Color color, float thickness) {
    const ImVec2 min(std::max(g.min.x, g.x_of(static_cast<double>(cells.first_col))),
                     std::max(g.min.y, g.y_of(static_cast<double>(cells.first_row))));
    const ImVec2 max(std::min(g.max.x, g.x_of(static_cast<double>(cells.last_col + 1))),
                     std::min(g.max.y, g.y_of(static_cast<double>(cells.last_row + 1))));
    list.AddRect(min, max, with_alpha(ui.colors().pane, 0.8f), 0, 0, thickness + ui.px(2));
    list.AddRect(min, max, color, 0, 0, thickness);
}

}  // namespace

void draw_edited_cells(const Ui& ui, ImDrawList& list, const HeatmapGeometry& g, const CellMarks& marks) {
    if (marks.by == nullptr) return;
    const float cell = std::min(g.cell_w(), g.cell_h());
    const float corner = std::clamp(cell * 0.3f, ui.px(3), ui.px(9));
    const bool corners = cell >= ui.px(kSmallestCorner);
    Bounds all{g.row_count, g.col_count}, lit{g.row_count, g.col_count};
    for (std::int64_t row = g.first_row(); row < g.end_row(); ++row)
        for (std::int64_t col = g.first_col(); col < g.end_col(); ++col) {
            const std::uint32_t by = marks.at(row, col);
            if (by == 0) continue;
            all.include(row, col);
            if (by == marks.lit) lit.include(row, col);
            if (corners) draw_corner(ui, list, {g.x_of(static_cast<double>(col + 1)), g.y_of(static_cast<double>(row))}, corner);
        }
    if (all.any() && !corners) draw_frame(ui, list, g, all, ui.colors().text, std::max(1.0f, ui.px(1)));
    if (lit.any()) draw_frame(ui, list, g, lit, ui.colors().accent, ui.px(2));
}

}  // namespace attn::app
