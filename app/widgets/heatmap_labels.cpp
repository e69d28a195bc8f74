#include <string>

#include "app/widgets/heatmap_geometry.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kLabelGap = 7;      ///< between labels and cells
constexpr float kUpright = 30;      ///< columns at least this wide get horizontal labels
constexpr float kFewUpright = 54;   ///< distance between horizontal labels of narrower columns: about six letters
constexpr float kOverhang = 3;      ///< how far the first and last column's labels may stick out
constexpr float kSlantedRoom = 30;  ///< minimum space for slanted labels

std::string label_of(const HeatmapAxis& axis, std::int64_t i) {
    if (axis.label) return axis.label(i);
    return axis.numbers ? std::to_string(i) : std::string();
}

bool has_labels(const HeatmapAxis& axis) { return axis.numbers || axis.label; }

/// Which labels are drawn if not all fit: every n-th, and always the selected one with space around it.
struct Thinning {
    std::int64_t step = 1, chosen = -1;
    bool draws(std::int64_t i) const { return i == chosen || (i % step == 0 && (chosen < 0 || std::abs(i - chosen) >= step)); }
};

Thinning thinning(float cell, float pitch, std::int64_t chosen) {
    return {std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(pitch / cell))), chosen};
}

Color label_color(const Ui& ui, const HeatmapAxis& axis, std::int64_t i, std::int64_t chosen, std::int64_t hovered) {
    if (i == chosen) return axis.axis == Axis::N ? ui.colors().chosen_text : ui.colors().axis(axis.axis);
    return i == hovered ? ui.colors().text : ui.colors().muted;
}

void draw_row_labels(const Ui& ui, ImDrawList& list, const HeatmapGeometry& g, const HeatmapOptions& o) {
    ImFont* font = ui.fonts().mono_small;
    const float right = g.min.x - ui.px(kLabelGap);
    for (const auto& [row, middle] : labelled_rows(g, font_size(font) + ui.px(1), o.marks.row)) {
        const std::string text = elide(font, label_of(o.rows, row), o.rows.room - ui.px(kLabelGap));
        const float half = font_size(font) / 2;
        draw_text_in(list, font, ImVec2(right, middle - half), ImVec2(right, middle + half), ImVec2(1, 0.5f),
                     label_color(ui, o.rows, row, o.marks.row, o.marks.hover_row), text);
    }
}

/// Whether labels must be slanted because one is wider than its column, and there is space for that.
bool slants(const Ui& ui, const HeatmapGeometry& g, const HeatmapOptions& o) {
    if (o.cols.room < ui.px(kSlantedRoom)) return false;
    for (std::int64_t col = g.first_col(); col < g.end_col(); ++col)
        if (text_width(ui.fonts().mono_small, label_of(o.cols, col)) > g.cell_w() - ui.px(4)) return true;
    return false;
}

/// Draws slanted labels from the centres of their columns; every n-th if columns are narrower than a line is high.
void draw_slanted_labels(const Ui& ui, ImDrawList& list, const HeatmapGeometry& g, const HeatmapOptions& o) {
    ImFont* font = ui.fonts().mono_small;
    const Thinning thin = thinning(g.cell_w(), font_size(font) + ui.px(2), o.marks.col);
    const float bottom = g.min.y - ui.px(kLabelGap - 1), longest = (o.cols.room - ui.px(kLabelGap - 2)) * 1.414f - font_size(font) / 2;
    const float edge = list.GetClipRectMax().x;  // labels are shortened before this edge
    for (std::int64_t col = g.first_col(); col < g.end_col(); ++col) {
        const float middle = g.x_of(static_cast<double>(col) + 0.5);
        if (!thin.draws(col) || middle < g.min.x || middle > g.max.x) continue;
        const std::string label = label_of(o.cols, col);
        const float most = std::min(longest, (edge - middle) * 1.414f - font_size(font) / 2);
        // Smaller letters rather than half a word.
        ImFont* const fitting = text_width(font, label) <= most ? font : ui.fonts().mono_tiny;
        draw_text_slanted(list, fitting, ImVec2(middle, bottom), label_color(ui, o.cols, col, o.marks.col, o.marks.hover_col),
                          elide(fitting, label, most));
    }
}

void draw_column_labels(const Ui& ui, ImDrawList& list, const HeatmapGeometry& g, const HeatmapOptions& o) {
    if (slants(ui, g, o)) return draw_slanted_labels(ui, list, g, o);
    ImFont* font = ui.fonts().mono_small;
    const float cell = g.cell_w(), height = font_size(font), bottom = g.min.y - ui.px(kLabelGap - 2);
    const float widest = text_width(font, label_of(o.cols, g.col_count - 1));
    const float pitch = !o.cols.label ? widest + ui.px(6) : ui.px(cell < ui.px(kUpright) ? kFewUpright : kUpright);
    const Thinning thin = thinning(cell, pitch, o.marks.col);
    for (std::int64_t col = g.first_col(); col < g.end_col(); ++col) {
        const float middle = g.x_of(static_cast<double>(col) + 0.5);
        if (!thin.draws(col) || middle < g.min.x || middle > g.max.x) continue;
        const float room = cell * static_cast<float>(thin.step) - ui.px(4);
        // At the edges the label would overlap the map's surroundings.
        const float edge = g.max.x + ui.px(kOverhang), beyond = middle + room / 2 - edge;
        const std::string text = elide(font, label_of(o.cols, col), beyond <= 0 ? room : room - beyond);
        const float left =
            std::max(std::min(middle - text_width(font, text) / 2, edge - text_width(font, text)), g.min.x - ui.px(kOverhang));
        draw_text(list, font, ImVec2(left, bottom - height), label_color(ui, o.cols, col, o.marks.col, o.marks.hover_col), text);
    }
}

std::string title_text(const HeatmapAxis& axis) {
    std::string text(axis.title);
    if (axis.axis != Axis::N) text.append(text.empty() ? "" : " ").append(axis_letter(axis.axis));
    return text;
}

}  // namespace

LabelOf labels_in(std::span<const std::string> list) {
    return [list](std::int64_t i) { return i < std::ssize(list) ? list[static_cast<std::size_t>(i)] : std::string(); };
}

std::vector<RowLabel> labelled_rows(const HeatmapGeometry& geometry, float pitch, std::int64_t chosen) {
    const Thinning thin = thinning(geometry.cell_h(), pitch, chosen);
    std::vector<RowLabel> labels;
    for (std::int64_t row = geometry.first_row(); row < geometry.end_row(); ++row) {
        const float middle = geometry.y_of(static_cast<double>(row) + 0.5);
        if (thin.draws(row) && middle >= geometry.min.y && middle <= geometry.max.y) labels.push_back({row, middle});
    }
    return labels;
}

void draw_heatmap_labels(const Ui& ui, ImDrawList& list, const HeatmapGeometry& g, const HeatmapOptions& o) {
    const bool row_labels = has_labels(o.rows) && o.rows.room > 0, col_labels = has_labels(o.cols) && o.cols.room > 0;
    if (row_labels) draw_row_labels(ui, list, g, o);
    if (col_labels) draw_column_labels(ui, list, g, o);
    ImFont* font = ui.fonts().strong;
    if (!o.rows.title.empty()) {
        const float x = g.min.x - (row_labels ? o.rows.room : 0.0f) - ui.px(6) - font_size(font) / 2;
        draw_text_turned(list, font, ImVec2(x, (g.min.y + g.max.y) / 2), ui.colors().axis(o.rows.axis), title_text(o.rows));
    }
    if (!o.cols.title.empty()) {
        const float y = g.max.y + ui.px(8);
        draw_text_in(list, font, ImVec2(g.min.x, y), ImVec2(g.max.x, y + font_size(font)), ImVec2(0.5f, 0), ui.colors().axis(o.cols.axis),
                     title_text(o.cols));
    }
}

}  // namespace attn::app
