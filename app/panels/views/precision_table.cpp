#include "app/panels/views/precision_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <vector>

#include "app/panels/kit/lower_case.hpp"
#include "app/panels/kit/scrolled.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/text_field.hpp"
#include "app/widgets/value_bar.hpp"

namespace attn::app {
namespace {

constexpr float kTableRow = 24, kFigure = 74, kTypes = 92, kTableTop = 40, kRoomForTypes = 470, kRoomForLargest = 360;

/// A line of the table: a parameter, or the same parameter of all layers.
struct TableLine {
    std::string name;       ///< as displayed
    std::string parameter;  ///< or the common part of the names
    std::string types;
    double relative = 0, rms = 0, max = 0;
};

/// Dropped from displayed names; biases keep their suffix.
constexpr std::string_view kWeight = ".weight";

std::string types_of(std::string_view a, std::string_view b) {
    return fmt::format("{} → {}", a.empty() ? "mixed" : a, b.empty() ? "mixed" : b);
}

/// Whether every word of the filter occurs in the name; the "*" of a merged line matches any layer.
bool passes(const std::string& filter, const std::string& name, const std::string& kind) {
    if (filter.empty()) return true;
    const std::string all = lower_case(name + " " + kind), typed = lower_case(filter);
    for (std::size_t at = 0; at < typed.size();) {
        const std::size_t end = std::min(typed.find(' ', at), typed.size());
        if (all.find(typed.substr(at, end - at)) == std::string::npos) return false;
        at = end + 1;
    }
    return true;
}

std::string kind_name(const std::string& parameter) {
    const std::size_t at = parameter.find("layers.");
    const std::size_t end = at == std::string::npos ? at : parameter.find('.', at + 7);
    return end == std::string::npos ? parameter : parameter.substr(0, at) + "layers.*" + parameter.substr(end);
}

std::vector<TableLine> lines_of_table(const PrecisionView& view, const WeightComparison& errors) {
    std::vector<TableLine> lines;
    if (view.kinds) {
        for (const WeightKindError& kind : errors.kinds)
            if (passes(view.filter, short_weight_name(kind.kind), kind.kind))
                lines.push_back(
                    {short_weight_name(kind.kind), kind.kind, types_of(kind.type_a, kind.type_b), kind.relative, kind.rms, kind.max});
    } else {
        for (const WeightError& error : errors.parameters)
            if (passes(view.filter, short_weight_name(error.parameter), kind_name(error.parameter)))
                lines.push_back({short_weight_name(error.parameter), error.parameter, types_of(error.type_a, error.type_b), error.relative,
                                 error.rms, error.max});
    }
    // NaN counts as the largest error.
    const auto figure = [&](const TableLine& line) {
        const double value = view.sort == ErrorColumn::Relative ? line.relative : view.sort == ErrorColumn::Rms ? line.rms : line.max;
        return std::isnan(value) ? std::numeric_limits<double>::infinity() : value;
    };
    if (view.sort != ErrorColumn::Name)
        std::stable_sort(lines.begin(), lines.end(), [&](const TableLine& a, const TableLine& b) { return figure(a) < figure(b); });
    if (!view.upwards) std::reverse(lines.begin(), lines.end());
    return lines;
}

/// Column widths, from the right; 0 omits a column.
struct TableColumns {
    float left = 0, right = 0, relative = 0, rms = 0, largest = 0, types = 0;
};

TableColumns columns_of(const PanelContext& context, float left, float right) {
    const float width = (right - left) / context.theme.scale, figure = context.px(kFigure);
    TableColumns columns{
        left, right, figure, figure, width >= kRoomForLargest ? figure : 0, width >= kRoomForTypes ? context.px(kTypes) : 0};
    return columns;
}

void draw_sort_heading(PanelContext& context, const char* id, std::string_view title, ErrorColumn column, ImVec2 min, ImVec2 max,
                       std::string_view tooltip) {
    const auto& [colors, fonts, scale] = context.theme;
    PrecisionView& view = context.view.precision;
    const Item item = item_at(context.ui(), id, min, {max.x - min.x, max.y - min.y}, {.tooltip = tooltip});
    draw_focus_ring(context.ui(), item, context.px(3));
    if (item.pressed) {
        // Start with the largest error, or with names in ascending order.
        view.upwards = view.sort == column ? !view.upwards : column == ErrorColumn::Name;
        view.sort = column;
    }
    const bool chosen = view.sort == column;
    const Color ink = item.hovered ? colors.accent : chosen ? colors.text : colors.faint;
    const bool name = column == ErrorColumn::Name;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float mark = context.px(14);
    draw_text_in(list, fonts.caption, min, {max.x - (name ? 0 : mark), max.y}, {name ? 0.F : 1.F, 0.5F}, ink, title);
    if (!chosen) return;
    const float x = name ? min.x + text_width(fonts.caption, title) + mark / 2 : max.x - mark / 2;
    draw_icon(list, view.upwards ? Icon::Up : Icon::Down, {x, (min.y + max.y) / 2}, context.px(8), ink);
}

void draw_table_headings(PanelContext& context, const TableColumns& columns, float y) {
    const float high = context.px(22);
    float right = columns.right;
    const auto heading = [&](const char* id, std::string_view title, ErrorColumn column, float width, std::string_view tooltip) {
        if (width > 0) draw_sort_heading(context, id, title, column, {right - width, y}, {right, y + high}, tooltip);
        right -= width;
    };
    heading("##largest", "largest", ErrorColumn::Largest, columns.largest, "Sort by largest error.");
    heading("##rms", "rms", ErrorColumn::Rms, columns.rms, "Sort by rms error.");
    heading("##relative", "relative", ErrorColumn::Relative, columns.relative,
            "Sort by rms error relative to the rms of the numbers themselves, in percent.");
    right -= columns.types;
    draw_sort_heading(context, "##name", context.view.precision.kinds ? "kind of tensor" : "tensor", ErrorColumn::Name, {columns.left, y},
                      {right, y + high}, "Sort in model order.");
}

void press_line(PanelContext& context, const TableLine& line) {
    PrecisionView& view = context.view.precision;
    if (view.kinds) {
        view.kinds = false;
        view.filter = line.parameter;
        return;
    }
    view.parameter = line.parameter;
    view.cell.reset();
}

/// Selects the line above or below the selected one if a key asks for it, and scrolls the table to it.
void move_by_key(PanelContext& context, const std::vector<TableLine>& lines, const WeightError* chosen, float line_high) {
    const int by = context.view.precision.line_by_key;
    if (by == 0 || context.view.precision.kinds || lines.empty() || chosen == nullptr) return;
    const auto at = std::find_if(lines.begin(), lines.end(), [&](const TableLine& line) { return line.parameter == chosen->parameter; });
    const std::ptrdiff_t last = std::ssize(lines) - 1;
    const std::ptrdiff_t next = at == lines.end() ? 0 : std::clamp<std::ptrdiff_t>(at - lines.begin() + by, 0, last);
    press_line(context, lines[static_cast<std::size_t>(next)]);
    const float top = static_cast<float>(next) * line_high, room = ImGui::GetWindowHeight();
    ImGui::SetScrollY(std::clamp(ImGui::GetScrollY(), std::min(top + line_high - room, top), top));
}

void draw_table_line(PanelContext& context, const TableLine& line, const TableColumns& columns, const Item& item, bool chosen,
                     double worst) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (chosen || item.hovered) list.AddRectFilled(item.min, item.max, with_alpha(colors.text, chosen ? 0.08F : 0.04F), context.px(4));
    draw_focus_ring(context.ui(), item, context.px(4));
    const Color ink = chosen ? colors.chosen_text : colors.text;
    float right = columns.right;
    const auto cell = [&](float width, const std::string& text, Color color) {
        if (width > 0)
            draw_text_in(list, context.theme.fonts.mono_small, {right - width, item.min.y}, {right - context.px(6), item.max.y}, {1, 0.5F},
                         color, text);
        right -= width;
    };
    cell(columns.largest, format_number(line.max, {.decimals = 4}), colors.muted);
    cell(columns.rms, format_number(line.rms, {.decimals = 4}), colors.muted);
    const float room = columns.relative - context.px(10);
    const double share = std::isfinite(line.relative) && worst > 0 ? line.relative / worst : 1;
    if (line.relative != 0)
        value_bar(list, {right - context.px(6), item.max.y - context.px(4)}, {right - context.px(6) - room, item.max.y - context.px(2)},
                  share, chosen ? colors.chosen : colors.accent);
    cell(columns.relative, line.relative == 0 ? "0" : format_number(100 * line.relative, {.decimals = 2}) + " %", ink);
    cell(columns.types, line.types, colors.faint);
    draw_text_in(list, fonts.mono_small, {item.min.x + context.px(4), item.min.y}, item.max, {0, 0.5F}, ink,
                 elide(fonts.mono_small, line.name, right - item.min.x - context.px(10)));
}

}  // namespace

std::string short_weight_name(std::string_view parameter) {
    const std::size_t at = parameter.find("layers.");
    const std::size_t end = at == std::string_view::npos ? at : parameter.find('.', at + 7);
    if (end == std::string_view::npos) return std::string(parameter);
    std::string_view rest = parameter.substr(end + 1);
    if (rest.ends_with(kWeight)) rest.remove_suffix(kWeight.size());
    return fmt::format("{}L{} {}", parameter.substr(0, at), parameter.substr(at + 7, end - at - 7), rest);
}

const WeightError* chosen_weight(const PanelContext& context, const WeightComparison& errors) {
    const WeightError* worst = nullptr;
    for (const WeightError& error : errors.parameters) {
        if (error.parameter == context.view.precision.parameter) return &error;
        if (worst == nullptr || error.relative > worst->relative || (std::isnan(error.relative) && !std::isnan(worst->relative)))
            worst = &error;
    }
    return worst;
}

void draw_weight_table(PanelContext& context, const WeightComparison& errors, const Box& box) {
    const Ui ui = context.ui();
    PrecisionView& view = context.view.precision;
    static constexpr std::array<std::string_view, 2> kWhat = {"tensors", "kinds"};
    const float pills = segmented_width(ui, kWhat);
    ImGui::SetCursorScreenPos(box.min);
    text_field(ui, "##tensors", view.filter, "Filter: L3 attention", (box.width() - pills) / context.theme.scale - 10,
               {.tooltip = "Lists the tensors whose names contain these words."});
    ImGui::SetCursorScreenPos({box.max.x - pills, box.min.y});
    int what = view.kinds ? 1 : 0;
    if (segmented(ui, "##what", kWhat, what, pills / context.theme.scale + 1,
                  {.tooltip = "Every tensor, or the same tensor of all layers together."}))
        view.kinds = what == 1;
    const float line_high = context.px(kTableRow), bar = ImGui::GetStyle().ScrollbarSize;
    const TableColumns columns = columns_of(context, box.min.x, box.max.x - bar);
    draw_table_headings(context, columns, box.min.y + context.px(kTableTop));
    const std::vector<TableLine> lines = lines_of_table(view, errors);
    double worst = 0;
    for (const TableLine& line : lines)
        if (std::isfinite(line.relative)) worst = std::max(worst, line.relative);
    ImGui::SetCursorScreenPos({box.min.x, box.min.y + context.px(kTableTop + 24)});
    const Scrolled scrolled(ui, "##weights", {box.width(), box.max.y - ImGui::GetCursorScreenPos().y});
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
    move_by_key(context, lines, chosen_weight(context, errors), line_high);
    const WeightError* chosen = chosen_weight(context, errors);
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(lines.size()), line_high);
    while (clipper.Step())
        for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
            const TableLine& line = lines[static_cast<std::size_t>(i)];
            ImGui::PushID(i);
            const Item item = begin_item(ui, "##line", {columns.right - columns.left, line_high},
                                         {.tooltip = view.kinds ? "Click to list these tensors." : line.parameter});
            ImGui::PopID();
            draw_table_line(context, line, columns, item, !view.kinds && chosen != nullptr && chosen->parameter == line.parameter, worst);
            if (item.pressed) press_line(context, line);
        }
    clipper.End();
    if (lines.empty()) paragraph(ui, context.theme.fonts.label, context.theme.colors.faint, "No tensor's name contains these words.");
    ImGui::PopStyleVar();
}

}  // namespace attn::app
