#include "app/panels/lessons/quoted_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/panels/compare/colors.hpp"
#include "app/panels/kit/labels.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/kit/stage_words.hpp"
#include "app/panels/maps/gradients.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/value_scale.hpp"
#include "engine/plan/head_of.hpp"

namespace attn::app {
namespace {

/// A parameter as a map: a matrix, or a single row.
Matrix parameter_map(PanelContext& context, const std::string& name) {
    const ParameterInfo* info = context.numbers().parameter_info(name);
    if (info == nullptr || info->shape.rank() < 1 || info->shape.rank() > 2) return {};
    const Dim cols = info->shape[info->shape.rank() - 1];
    return context.numbers().parameter(context.shown(),
                                       {name, info->shape.rank() == 2 ? info->shape[0].axis : Axis::N, cols.axis, 0, cols.size});
}

/// The map that contains the place, for its sequence and head.
Matrix map_of(PanelContext& context, const QuotedPlace& place) {
    if (!place.cell.parameter.empty()) return parameter_map(context, place.cell.parameter);
    const StageId& id = place.cell.stage;
    if (place.rank < 3 || !context.has_stage(id)) return {};
    const Structure& structure = context.structure();
    const std::int64_t own = place.rank == 4 ? place.cell.index[1] : 0;
    const std::int64_t head = query_head(structure.config, structure.shape_of(id), own, context.view.head);
    return context.numbers()
        .numbers({.of = context.shown(), .stage = id, .sequence = place.cell.index[0], .head = head, .if_held = true})
        .map;
}

bool is_pointing(const QuotedCell& quoted) { return quoted.pointed_at; }

/// An index in words, such as "key 6 “Lily”" or "number 3".
std::string index_words(const PanelContext& context, const StageId& id, const Shape& shape, Axis axis, std::int64_t index) {
    const bool named = axis == Axis::T || axis == Axis::S || axis == Axis::V;
    const std::string_view what = axis == Axis::S      ? "key"
                                  : axis == Axis::V    ? "word"
                                  : axis != Axis::T    ? "number"
                                  : shape.has(Axis::S) ? "query"
                                                       : "position";
    return named ? fmt::format("{} {} “{}”", what, index, index_label(context, id, axis, index)) : fmt::format("{} {}", what, index);
}

/// Whether the map shows numbers of the state that the caption quotes.
bool shows_quoted_numbers(const PanelContext& context, const Matrix& matrix) {
    return !matrix.is_difference && !matrix.is_gradient && !matrix.is_side_a && !context.view.compare.swapped;
}

/// The rectangle of the place in a map; none if it is not visible.
std::optional<std::pair<ImVec2, ImVec2>> box_in(const Matrix& matrix, const HeatmapGeometry& g, QuotedPlace place) {
    const auto is_whole = [&](int index) { return index >= 0 && place.whole[static_cast<std::size_t>(index)]; };
    const bool all_rows = is_whole(matrix.row_index), all_cols = is_whole(matrix.col_index);
    if (matrix.origin)
        for (const int index : {matrix.row_index, matrix.col_index})
            if (is_whole(index)) place.cell.index[static_cast<std::size_t>(index)] = matrix.origin->index[static_cast<std::size_t>(index)];
    const auto at = matrix.place_of(place.cell);
    if (!at) return std::nullopt;
    const double row = static_cast<double>(at->first), col = static_cast<double>(at->second);
    const ImVec2 min{all_cols ? g.min.x : std::max(g.x_of(col), g.min.x), all_rows ? g.min.y : std::max(g.y_of(row), g.min.y)};
    const ImVec2 max{all_cols ? g.max.x : std::min(g.x_of(col + 1), g.max.x), all_rows ? g.max.y : std::min(g.y_of(row + 1), g.max.y)};
    if (max.x <= min.x || max.y <= min.y) return std::nullopt;
    return std::pair(min, max);
}

/// The selected cell has a frame already.
bool is_chosen(const PanelContext& context, const QuotedPlace& place) {
    if (!place.cell.parameter.empty()) return false;
    return selected_cell(context.view, context.structure(), context.view.locked) == place.cell;
}

/// Marks a cell with brackets at its corners, which leave number and colour visible. Skipped for cells too small for that.
void draw_corners(ImDrawList& list, const Theme& theme, ImVec2 min, ImVec2 max) {
    const float side = std::min(max.x - min.x, max.y - min.y);
    if (side < theme.px(12)) return;
    const float arm = std::clamp(side * 0.28F, theme.px(3), theme.px(9)), line = std::max(1.F, theme.px(1.5F));
    for (const auto& [color, thickness] : {std::pair{theme.colors.pane, line + theme.px(2)}, std::pair{theme.colors.text, line}})
        for (const float sx : {1.F, -1.F})
            for (const float sy : {1.F, -1.F}) {
                const ImVec2 corner{sx > 0 ? min.x : max.x, sy > 0 ? min.y : max.y};
                list.AddLine(corner, {corner.x + sx * arm, corner.y}, color, thickness);
                list.AddLine(corner, {corner.x, corner.y + sy * arm}, color, thickness);
            }
}

void draw_arrow_to(ImDrawList& list, const Theme& theme, ImVec2 from, ImVec2 min, ImVec2 max) {
    const Color color = theme.colors.accent;
    list.AddRect({min.x - theme.px(2), min.y - theme.px(2)}, {max.x + theme.px(2), max.y + theme.px(2)}, color, theme.px(2), 0,
                 theme.px(2.5F));
    // Point at the nearest point of the frame's top edge.
    const ImVec2 to{std::clamp(from.x, min.x, max.x), min.y - theme.px(4)};
    const ImVec2 way{to.x - from.x, to.y - from.y};
    const float length = std::hypot(way.x, way.y), tip = theme.px(9);
    if (length < 2 * tip) return;
    const ImVec2 along{way.x / length, way.y / length}, across{-along.y, along.x};
    const ImVec2 foot{to.x - along.x * tip, to.y - along.y * tip};
    list.AddLine(from, foot, with_alpha(theme.colors.pane, 0.9F), theme.px(5));
    list.AddLine(from, foot, color, theme.px(2));
    list.AddTriangleFilled(to, {foot.x + across.x * tip / 2, foot.y + across.y * tip / 2},
                           {foot.x - across.x * tip / 2, foot.y - across.y * tip / 2}, color);
}

}  // namespace

std::optional<CellLook> look_of_cell(PanelContext& context, const QuotedPlace& place) {
    if (!context.ready() || !place.is_cell() || shows_gradients(context)) return std::nullopt;
    const Matrix matrix = map_of(context, place);
    const auto at = matrix.empty() ? std::nullopt : matrix.place_of(place.cell);
    if (!at) return std::nullopt;
    if (!matrix.data.knows(at->first, at->second)) return std::nullopt;
    const Palette& colors = context.theme.colors;
    if (matrix.masked(at->first, at->second)) return CellLook{colors.pane, colors.text, true};
    const HeatmapStyle style = place.cell.parameter.empty() ? style_of(context, matrix, place.cell.stage) : style_of(context, matrix);
    const Color fill = context.canvas.color(row_style(matrix.data, style, at->first), matrix.at(at->first, at->second));
    return CellLook{fill, ink_on(fill), false};
}

std::string place_words(const PanelContext& context, const QuotedPlace& place) {
    std::string words, indices;
    const auto add = [&indices](const std::string& more) { indices += (indices.empty() ? "" : ", ") + more; };
    if (!place.cell.parameter.empty()) {
        for (int a = 0; a < place.rank; ++a) add(std::to_string(place.cell.index[static_cast<std::size_t>(a)]));
        return fmt::format("{} [{}], a parameter of the model", place.cell.parameter, indices);
    }
    const StageId& id = place.cell.stage;
    const Shape shape = context.structure().shape_of(id);
    words = stage_title(id, token_noun(context.snapshot));
    if (id.layer >= 0) words += fmt::format(", layer {}", id.layer);
    for (int a = 0; a < std::min(place.rank, shape.rank()); ++a) {
        const Axis axis = shape[a].axis;
        const std::int64_t index = place.cell.index[static_cast<std::size_t>(a)];
        if (place.whole[static_cast<std::size_t>(a)]) continue;
        if (axis == Axis::B && shape[a].size > 1) words += fmt::format(", text {}", index + 1);
        else if (axis == Axis::H || axis == Axis::G) words += fmt::format(", head {}", index);
        else if (axis != Axis::B) add(index_words(context, id, shape, axis, index));
    }
    return words + (indices.empty() ? "" : ": " + indices);
}

void light_up(PanelContext& context, const QuotedPlace& place) {
    if (!place.cell.parameter.empty() || !context.ready()) return;
    const Shape shape = context.structure().shape_of(place.cell.stage);
    for (int a = 0; a < std::min(place.rank, shape.rank()); ++a) {
        const Axis axis = shape[a].axis;
        const std::int64_t index = place.cell.index[static_cast<std::size_t>(a)];
        // If the place is in another sequence or head, highlight nothing, since maps show the selected one.
        if (axis == Axis::B && index != context.view.batch) return context.view.hovered.clear();
        if (axis == Axis::B || place.whole[static_cast<std::size_t>(a)]) continue;
        if (axis != Axis::H && axis != Axis::G) context.view.hovered.set(axis, index);
        else if (context.view.view == View::Step && head_of(context.structure().config, shape, context.view.head) != index)
            return context.view.hovered.clear();
    }
}

void mark_quoted_cells(PanelContext& context, const Matrix& matrix, const HeatmapGeometry& geometry, const HeatmapResult&) {
    if (context.view.lesson.quoted.empty() || !shows_quoted_numbers(context, matrix)) return;
    for (QuotedCell& quoted : context.view.lesson.quoted) {
        const auto box = box_in(matrix, geometry, quoted.place);
        if (!box) continue;
        quoted.seen.push_back(*box);
        if (quoted.place.is_cell() && !context.picture_alone && !is_chosen(context, quoted.place))
            draw_corners(*ImGui::GetWindowDrawList(), context.theme, box->first, box->second);
    }
}

void draw_caption_pointer(const PanelContext& context) {
    const std::vector<QuotedCell>& all = context.view.lesson.quoted;
    const auto quoted = std::find_if(all.begin(), all.end(), is_pointing);
    if (quoted == all.end() || any_popup_open()) return;
    for (const auto& [min, max] : quoted->seen) draw_arrow_to(*ImGui::GetForegroundDrawList(), context.theme, quoted->number, min, max);
}

}  // namespace attn::app
