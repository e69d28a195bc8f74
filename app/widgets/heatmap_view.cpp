#include "app/widgets/heatmap_view.hpp"

#include <cmath>

#include "app/widgets/controls.hpp"
#include "app/widgets/heatmap_geometry.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/keyboard_focus.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kClickSlop = 4;

bool whole(const HeatmapData& data) { return !data.empty() && data.rows > 0 && data.cols > 0; }

/// The fixed point of a zoom, 0 to 1 of the visible part: the pointer, otherwise the selected cell, otherwise the centre.
ImVec2 zoom_anchor(const HeatmapGeometry& g, const HeatmapMarks& marks, bool hovered) {
    ImVec2 at{(g.min.x + g.max.x) / 2, (g.min.y + g.max.y) / 2};
    if (hovered) at = ImGui::GetIO().MousePos;
    else if (marks.row >= 0 && marks.col >= 0)
        at = {g.x_of(static_cast<double>(marks.col) + 0.5), g.y_of(static_cast<double>(marks.row) + 0.5)};
    return {std::clamp((at.x - g.min.x) / (g.max.x - g.min.x), 0.0f, 1.0f), std::clamp((at.y - g.min.y) / (g.max.y - g.min.y), 0.0f, 1.0f)};
}

/// Handles wheel, drag, double-click and F; true if the view changed.
bool move_view(const Ui& ui, const HeatmapGeometry& g, HeatmapViewState& state, const HeatmapOptions& options, bool hovered, bool held) {
    const HeatmapViewState before = state;
    const ImGuiIO& io = ImGui::GetIO();
    const float steps = (hovered ? io.MouseWheel : 0) + (hovered || options.zoom_keys ? options.zoom_steps : 0);
    if (steps != 0) zoom_heatmap(state, g.row_count, g.col_count, steps, zoom_anchor(g, options.marks, hovered));
    if (hovered) {
        own_mouse_wheel();
        if ((!options.opens && ImGui::IsMouseDoubleClicked(0)) || (key_pressed('F') && !io.WantTextInput && !io.KeyCtrl)) state = {};
    }
    const bool dragged = (options.pan && ImGui::IsMouseDragging(0, ui.px(kClickSlop))) || ImGui::IsMouseDragging(2, 0);
    if (held && dragged && !state.whole()) {
        pan_axis(state.rows, g.row_count, -io.MouseDelta.y / g.cell_h());
        pan_axis(state.cols, g.col_count, -io.MouseDelta.x / g.cell_w());
    }
    return !(state == before);
}

/// Moves the selected cell with the arrow keys; none if no such key was pressed.
std::optional<HeatmapCell> move_cell(const HeatmapData& data, const HeatmapMarks& marks, HeatmapViewState& state) {
    if (marks.row < 0 || marks.col < 0) return std::nullopt;
    HeatmapCell cell{marks.row, marks.col};
    cell.row += static_cast<int>(key_pressed(Key::Down)) - static_cast<int>(key_pressed(Key::Up));
    cell.col += static_cast<int>(key_pressed(Key::Right)) - static_cast<int>(key_pressed(Key::Left));
    cell.row = std::clamp<std::int64_t>(cell.row, 0, data.rows - 1);
    cell.col = std::clamp<std::int64_t>(cell.col, 0, data.cols - 1);
    if (cell == HeatmapCell{marks.row, marks.col}) return std::nullopt;
    reveal_cell(state.rows, data.rows, cell.row);
    reveal_cell(state.cols, data.cols, cell.col);
    return cell;
}

HeatmapResult handle_input(const Ui& ui, const char* id, const HeatmapGeometry& g, const HeatmapData& data, HeatmapViewState& state,
                           const HeatmapOptions& options) {
    HeatmapResult result;
    const ImVec2 cursor = ImGui::GetCursorScreenPos();
    ImGui::SetCursorScreenPos(g.min);
    const ImVec2 size(std::max(1.0f, g.max.x - g.min.x), std::max(1.0f, g.max.y - g.min.y));
    constexpr ImGuiButtonFlags kButtons =
        ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonRight | ImGuiButtonFlags_MouseButtonMiddle;
    const bool pressed = options.lies_below ? invisible_button_below(id, size, kButtons) : ImGui::InvisibleButton(id, size, kButtons);
    const bool hovered = ImGui::IsItemHovered(), active = ImGui::IsItemActive();
    const ImGuiIO& io = ImGui::GetIO();
    const float slop = ui.px(kClickSlop);
    if (options.zoom) result.view_changed = move_view(ui, g, state, options, hovered, active);
    if (hovered) result.hovered = g.cell_at(io.MousePos);
    result.held = active && ImGui::IsMouseDown(0);
    if (pressed && ImGui::IsMouseReleased(0) && io.MouseDragMaxDistanceSqr[0] <= slop * slop)
        (options.opens && io.MouseClickedLastCount[0] % 2 == 0 ? result.double_clicked : result.clicked) = result.hovered;
    if (pressed && ImGui::IsMouseReleased(1)) result.right_clicked = result.hovered;
    ImGui::SetCursorScreenPos(cursor);
    if (options.arrows && !io.WantTextInput) {
        result.moved = move_cell(data, options.marks, state);
        result.view_changed = result.view_changed || result.moved.has_value();
    }
    return result;
}

}  // namespace

namespace {

/// Draws the region of a large map that is known at a finer resolution over the rest.
void draw_finer(const Ui& ui, ImDrawList& list, const HeatmapGeometry& g, const HeatmapRequest& whole) {
    const HeatmapRegion* finer = whole.data.finer;
    if (finer == nullptr || finer->level >= whole.data.level) return;
    const auto row = static_cast<double>(finer->first_row), col = static_cast<double>(finer->first_col);
    const double first_row = std::max(row, g.rows.first), last_row = std::min(row + static_cast<double>(finer->rows), g.rows.last);
    const double first_col = std::max(col, g.cols.first), last_col = std::min(col + static_cast<double>(finer->cols), g.cols.last);
    if (first_row >= last_row || first_col >= last_col) return;
    HeatmapRequest part = whole;
    part.data = {.key = finer->key,
                 .values = finer->values,
                 .rows = finer->rows,
                 .cols = finer->cols,
                 .row_stride = finer->block_cols(),
                 .keep = finer->keep,
                 .level = finer->level};
    part.first_row = static_cast<float>(first_row - row);
    part.last_row = static_cast<float>(last_row - row);
    part.first_col = static_cast<float>(first_col - col);
    part.last_col = static_cast<float>(last_col - col);
    ui.canvas.heatmap(list, {g.x_of(first_col), g.y_of(first_row)}, {g.x_of(last_col), g.y_of(last_row)}, part);
}

}  // namespace

HeatmapResult heatmap_view(const Ui& ui, const char* id, ImVec2 min, ImVec2 max, const HeatmapData& data, const HeatmapStyle& style,
                           HeatmapViewState& state, const HeatmapOptions& options) {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const Palette& c = ui.colors();
    // Whole pixels, so that frames and labels align exactly with the shader's cells.
    min = ImVec2(std::round(min.x), std::round(min.y));
    max = ImVec2(std::max(min.x + 1, std::round(max.x)), std::max(min.y + 1, std::round(max.y)));
    if (!whole(data)) {
        list.AddRect(min, max, c.line, 0, 0, std::max(1.0f, ui.px(1)));
        draw_text_in(list, ui.fonts().caption, min, max, ImVec2(0.5f, 0.5f), c.faint, "empty");
        return {};
    }
    if (ui.focus != nullptr) ui.focus->note_read({min, max});
    HeatmapResult result;
    if (options.interactive) result = handle_input(ui, id, heatmap_geometry(min, max, data, state), data, state, options);
    const HeatmapGeometry g = heatmap_geometry(min, max, data, state);
    HeatmapRequest request{.data = data, .style = style};
    request.first_col = static_cast<float>(g.cols.first);
    request.last_col = static_cast<float>(g.cols.last);
    request.first_row = static_cast<float>(g.rows.first);
    request.last_row = static_cast<float>(g.rows.last);
    if (const HeatmapBefore* before = options.before; before != nullptr && before->share < 1) {
        HeatmapRequest under = request;
        under.data = before->data;
        under.style = before->style;
        ui.canvas.heatmap(list, min, max, under);
        request.opacity = before->share;
    }
    ui.canvas.heatmap(list, min, max, request);
    if (request.opacity >= 1) draw_finer(ui, list, g, request);
    if (options.dropped) draw_dropped_cells(ui, list, g, data);
    if (options.numbers) {
        list.PushClipRect(min, max, true);
        draw_cell_numbers(ui, list, g, data, style, options.dropped);
        list.PopClipRect();
    }
    const float line = std::max(1.0f, ui.px(1));
    if (options.border) list.AddRect(ImVec2(min.x - line, min.y - line), ImVec2(max.x + line, max.y + line), c.line, 0, 0, line);
    list.PushClipRect(min, max, true);
    draw_edited_cells(ui, list, g, options.edited);
    list.PopClipRect();
    HeatmapMarks marks = options.marks;
    if (result.hovered) {
        marks.hover_row = result.hovered->row;
        marks.hover_col = result.hovered->col;
    }
    draw_heatmap_marks(ui, list, g, marks);
    HeatmapOptions shown = options;
    shown.marks = marks;
    draw_heatmap_labels(ui, list, g, shown);
    if (!options.note.empty()) draw_text(list, ui.fonts().label, ImVec2(min.x, max.y + ui.px(6)), c.bad, options.note);
    return result;
}

std::string cell_text(const HeatmapData& data, HeatmapCell cell) {
    if (!data.knows(cell.row, cell.col)) return "…";
    if (data.masked(cell.row, cell.col)) return kMasked;
    return format_exact(data.at(cell.row, cell.col));
}

void heatmap_tooltip(const Ui& ui, const HeatmapData& data, HeatmapCell cell, const HeatmapAxis& rows, const HeatmapAxis& cols,
                     std::string_view instead) {
    const auto line = [&](const HeatmapAxis& axis, std::int64_t i) {
        std::string text = axis.axis == Axis::N ? std::to_string(i) : std::string(axis_letter(axis.axis)) + " " + std::to_string(i);
        if (axis.label) text.append("  ").append(axis.label(i));
        return text;
    };
    begin_tooltip(ui);
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, ui.px(2)));
    text_line(ui, ui.fonts().mono_body, ui.colors().text, instead.empty() ? cell_text(data, cell) : std::string(instead));
    text_line(ui, ui.fonts().mono_small, ui.colors().axis(rows.axis), line(rows, cell.row));
    text_line(ui, ui.fonts().mono_small, ui.colors().axis(cols.axis), line(cols, cell.col));
    ImGui::PopStyleVar();
    end_tooltip();
}

}  // namespace attn::app
