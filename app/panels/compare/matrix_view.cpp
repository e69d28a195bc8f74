#include "app/panels/compare/matrix_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "app/panels/compare/colors.hpp"
#include "app/panels/compare/shown_maps.hpp"
#include "app/panels/kit/labels.hpp"
#include "app/panels/maps/gradients.hpp"
#include "app/widgets/color_bar.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/heatmap_geometry.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/shape_text.hpp"
#include "app/widgets/tensor_stats.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/zoom_bar.hpp"

namespace attn::app {
namespace {

constexpr float kTitleHeight = 22, kColumnLabels = 20;

/// Whether the matrix has the same columns as the stage, as scores have those of the weights.
bool has_columns_of(const PanelContext& context, const StageId& stage, const Matrix& matrix) {
    if (!context.has_stage(stage)) return false;
    const Shape shape = context.structure().shape_of(stage);
    const Dim& cols = shape[shape.rank() - 1];
    return cols.axis == matrix.col_axis && cols.size == matrix.data.cols;
}

/// Maps of an equation that share an axis also share its zoom. Reads it from the result's zoom state and writes it back.
class SharedZoom {
public:
    SharedZoom(PanelContext& context, const MatrixViewOptions& options, const Matrix& matrix)
        : result_(context.view.zooms[tensor_name(options.stage)]), own_(context.view.zooms[matrix.name]), role_(options.role),
          same_cols_(has_columns_of(context, options.stage, matrix)), state_(own_) {
        if (shares_rows()) state_.rows = result_.rows;
        if (shares_cols()) state_.cols = result_.cols;
    }
    ~SharedZoom() {
        own_ = state_;
        if (shares_rows()) result_.rows = state_.rows;
        if (shares_cols()) result_.cols = state_.cols;
    }
    SharedZoom(const SharedZoom&) = delete;
    SharedZoom& operator=(const SharedZoom&) = delete;
    HeatmapViewState& state() { return state_; }

private:
    bool shares_rows() const { return role_ == MatrixRole::Left || role_ == MatrixRole::Input || role_ == MatrixRole::Result; }
    bool shares_cols() const {
        return role_ == MatrixRole::Top || role_ == MatrixRole::Strip || role_ == MatrixRole::Result ||
               (role_ == MatrixRole::Input && same_cols_);
    }
    HeatmapViewState& result_;
    HeatmapViewState& own_;
    MatrixRole role_;
    bool same_cols_;
    HeatmapViewState state_;
};

HeatmapMarks marks_of(const PanelContext& context, const Matrix& matrix) {
    const auto index = [](const AxisSelection& selection, Axis axis, std::int64_t count) {
        const std::int64_t i = axis == Axis::N ? -1 : selection.on(axis).value_or(-1);
        return i < count ? i : -1;
    };
    HeatmapMarks marks;
    marks.row = index(context.view.locked, matrix.row_axis, matrix.data.rows);
    marks.col = index(context.view.locked, matrix.col_axis, matrix.data.cols);
    marks.hover_row = index(context.view.hover_shown, matrix.row_axis, matrix.data.rows);
    marks.hover_col = index(context.view.hover_shown, matrix.col_axis, matrix.data.cols);
    return marks;
}

float column_room(const PanelContext& context, const MatrixViewOptions& options) {
    return !options.col_labels ? 0 : options.column_room > 0 ? options.column_room : context.px(kColumnLabels);
}

/// Draws the title "Q [T10 D8]" above the matrix and its column labels. True if it was clicked to go to that stage.
bool draw_title(PanelContext& context, const Matrix& matrix, const Box& box, const MatrixViewOptions& options) {
    if (matrix.symbol.empty()) return false;
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    ImVec2 at{box.min.x, box.min.y - context.px(kTitleHeight) - column_room(context, options)};
    if (options.role == MatrixRole::Top) at = {box.max.x + context.px(10), box.min.y};
    if (options.role == MatrixRole::Strip) at = {box.max.x + context.px(10), box.min.y};
    const bool small = options.role == MatrixRole::Strip;
    ImFont* font = small ? fonts.mono_small : fonts.strong;
    // A title above the matrix must end before the next one; beside the matrix it has room.
    const bool above = options.role != MatrixRole::Top && !small;
    const float room = std::max(box.width() + context.px(30), context.px(60));
    std::string symbol = above ? elide(font, matrix.symbol, room) : matrix.symbol;
    // Many heads side by side have room for their numbers alone.
    constexpr std::string_view kHead = "head ";
    if (matrix.symbol.starts_with(kHead) && text_width(font, matrix.symbol) > box.width() + context.px(4))
        symbol = matrix.symbol.substr(kHead.size());
    const float width = text_width(font, symbol);
    // Where there is no room at the right, the name alone goes to the left.
    const bool at_left = !above && at.x + width + context.px(4) > ImGui::GetWindowPos().x + ImGui::GetWindowWidth() - context.px(8);
    if (at_left) at.x = box.min.x - context.px(10) - width;
    const bool stage = matrix.origin && matrix.origin->parameter.empty() && !(matrix.origin->stage == options.stage);
    bool clicked = false, hovered = false;
    if (stage) {
        ImGui::SetCursorScreenPos(at);
        ImGui::PushID(matrix.name.c_str());
        const Item item = begin_item(context.ui(), "##title", {width + context.px(4), context.px(20)}, {.tooltip = "Go to this stage."});
        draw_focus_ring(context.ui(), item, context.px(3));
        clicked = item.pressed;
        hovered = item.hovered;
        ImGui::PopID();
    }
    draw_text(list, font, at, hovered ? colors.accent : colors.text, symbol);
    if (small || at_left) return clicked;
    const Shape shape{{matrix.row_axis, matrix.data.rows}, {matrix.col_axis, matrix.data.cols}};
    const ImVec2 shape_at =
        options.role == MatrixRole::Top ? ImVec2{at.x, at.y + context.px(20)} : ImVec2{at.x + width + context.px(10), at.y + context.px(3)};
    const bool fits = !above || width + context.px(10) + runs_width(fonts.mono_tiny, shape_runs(context.theme, shape)) <= room;
    if (fits) draw_shape(list, context.theme, fonts.mono_tiny, shape_at, shape);
    return clicked;
}

/// Rows and columns of what has no role here may be anything.
bool may_be_anything(const Matrix& matrix) { return matrix.origin && matrix.origin->stage.stage == Stage::Other; }

/// Draws a title such as "query T" above the row labels.
void draw_row_title(const PanelContext& context, const Matrix& matrix, const Box& box) {
    const std::string_view words = axis_title(matrix.row_axis);
    if (words.empty()) return;
    const std::string text = may_be_anything(matrix) ? "row" : fmt::format("{} {}", words, axis_letter(matrix.row_axis));
    draw_text_in(*ImGui::GetWindowDrawList(), context.theme.fonts.mono_small,
                 {box.min.x - context.px(120), box.min.y - context.px(kColumnLabels)}, {box.min.x - context.px(8), box.min.y}, {1, 0.5F},
                 context.theme.colors.axis(matrix.row_axis), text);
}

HeatmapStyle style_for(PanelContext& context, const Matrix& matrix, const MatrixViewOptions& options) {
    if (matrix.is_gradient) return style_of(context, matrix);
    if ((matrix.is_difference || matrix.is_norm_weighted) && options.reach > 0)
        return shown_style(context, matrix, options.stage, options.reach);
    if (options.comparing && matrix.is_side_a) return style_of(context, matrix, options.stage);
    if (matrix.origin && matrix.origin->parameter.empty() && !matrix.is_difference) return style_of(context, matrix, matrix.origin->stage);
    if (matrix.mean_of && !matrix.is_difference) return style_of(context, matrix, *matrix.mean_of);
    if (matrix.in_blocks() && matrix.of) return style_of(context, matrix, matrix.of->stage);  // the mean's own range is not known
    return style_of(context, matrix);
}

/// The position of the zoom bar: below the map beside the axis title or, for one of many maps, in its upper corner.
ImVec2 zoom_bar_place(const PanelContext& context, const Matrix& matrix, const Box& box, const MatrixViewOptions& options) {
    const float width = zoom_bar_size(context.ui()).x;
    if (!options.axis_titles) return {box.max.x - width - context.px(4), box.min.y + context.px(4)};
    const std::string title = fmt::format("{} {}", axis_title(matrix.col_axis), axis_letter(matrix.col_axis));
    const float beside = (box.min.x + box.max.x + text_width(context.theme.fonts.strong, title)) / 2 + context.px(10);
    return {std::max(box.max.x - width, beside), box.max.y + context.px(5)};
}

/// Shows the zoom bar while the map is zoomed or hovered. A double-click on the labels resets the zoom.
void offer_zoom(PanelContext& context, const Matrix& matrix, const Box& box, const MatrixViewOptions& options, HeatmapViewState& state) {
    if (matrix.data.rows * matrix.data.cols < 2) return;
    const Ui ui = context.ui();
    const ImVec2 at = zoom_bar_place(context, matrix, box, options), size = zoom_bar_size(ui), mouse = ImGui::GetIO().MousePos;
    const auto points_at = [&](ImVec2 min, ImVec2 max) {
        return ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem) && mouse.x >= min.x && mouse.x < max.x &&
               mouse.y >= min.y && mouse.y < max.y;
    };
    const bool at_cells = points_at(box.min, box.max), at_bar = points_at({at.x, box.max.y}, {at.x + size.x, at.y + size.y});
    const ImVec2 labels{box.min.x - (options.row_labels ? context.px(58) : 0), box.min.y - column_room(context, options)};
    if (!at_cells && points_at(labels, box.max) && ImGui::IsMouseDoubleClicked(0)) state = {};
    const bool fits_in = options.axis_titles || box.width() > size.x + context.px(60);
    const bool wanted = options.axis_titles ? at_cells || at_bar || !state.whole() : !state.whole();
    if (wanted && fits_in) zoom_bar(ui, ("##zoom " + matrix.name).c_str(), at, state, matrix.data.rows, matrix.data.cols);
}

VisibleCells visible_cells(const HeatmapGeometry& geometry) {
    return {geometry.first_row(),
            geometry.end_row(),
            geometry.first_col(),
            geometry.end_col(),
            geometry.rows.size() / static_cast<double>(geometry.max.y - geometry.min.y),
            geometry.cols.size() / static_cast<double>(geometry.max.x - geometry.min.x)};
}

/// A tooltip line for a packed weight that shows how its file encodes it.
void tell_packing(const PanelContext& context, const Matrix& matrix, HeatmapCell at) {
    const std::optional<CellRef> cell = matrix.is_gradient || matrix.is_difference ? std::nullopt : matrix.cell(at.row, at.col);
    const std::string packed = cell ? context.numbers().packing(*cell) : "";
    if (packed.empty()) return;
    begin_tooltip(context.ui());
    text_line(context.ui(), context.theme.fonts.mono, context.theme.colors.text, format_exact(matrix.at(at.row, at.col)));
    text_line(context.ui(), context.theme.fonts.label, context.theme.colors.faint, packed);
    end_tooltip();
}

}  // namespace

std::string why_not_editable(const PanelContext& context, const Matrix& matrix) {
    if (matrix.is_difference) return "A difference of two states: end the comparison (key B) to change a number.";
    if (matrix.is_gradient) return "A gradient: switch to the values (D) to change a number.";
    if (context.view.compare.swapped || matrix.is_side_a) return "This is state A of the comparison.";
    if (!matrix.origin && matrix.name == "one-hot tokens") return "It follows from the tokens: change the text.";
    if (!matrix.origin) return "It is computed from other numbers for this picture: change those.";
    if (!matrix.origin->parameter.empty()) return "It is a parameter of the model, which training changes. Change a stage instead.";
    if (matrix.origin->stage.stage == Stage::Tokens) return "Tokens are text: change the text (T).";
    if (matrix.origin->stage.stage == Stage::Probabilities) return "Nothing is computed from the probabilities: change a logit instead.";
    return "";
}

MatrixViewResult draw_matrix(PanelContext& context, const Matrix& all, const Box& box, const MatrixViewOptions& options) {
    MatrixViewResult out;
    out.title_clicked = draw_title(context, all, box, options);
    SharedZoom zoom(context, options, all);
    const NumberDesk numbers = context.numbers();
    const Matrix matrix = numbers.with_visible(all, visible_cells(heatmap_geometry(box.min, box.max, all.data, zoom.state())));
    const bool noted = options.role == MatrixRole::Result;
    const TensorStatistics* counted = !noted ? nullptr : matrix.in_blocks() ? &numbers.statistics(matrix) : numbers.count(matrix);
    const std::string note = counted == nullptr ? std::string() : non_finite_note(*counted);
    HeatmapOptions view;
    if (options.row_labels) view.rows.label = axis_label(context, options.stage, matrix.row_axis, matrix.labelled_by);
    view.rows.axis = matrix.row_axis;
    view.rows.room = options.row_labels ? context.px(58) : 0;
    if (options.col_labels) view.cols.label = axis_label(context, options.stage, matrix.col_axis, matrix.labelled_by);
    view.cols.axis = matrix.col_axis;
    view.cols.room = column_room(context, options);
    if (options.role == MatrixRole::Result && options.axis_titles)
        view.cols.title = may_be_anything(matrix) ? "column" : axis_title(matrix.col_axis);
    if (options.row_labels && options.axis_titles) draw_row_title(context, matrix, box);
    view.marks = marks_of(context, matrix);
    if (options.summed_over && options.role == MatrixRole::Left) view.marks.col = view.marks.hover_col = -1;
    if (options.summed_over && options.role == MatrixRole::Top) view.marks.row = view.marks.hover_row = -1;
    view.edited = matrix.edited;
    view.dropped = shows_dropout(context, matrix);
    view.edited.lit = context.view.edits.lit;
    // Where numbers cannot be edited, a double-click on a zoomed map resets the zoom.
    view.opens = !context.view.paint.on && (zoom.state().whole() || why_not_editable(context, matrix).empty());
    // In an operand's narrow cells numbers would be too short to be useful.
    const float cell = box.width() / static_cast<float>(matrix.data.cols) * std::max(zoom.state().cols.zoom, 1.F);
    view.numbers = options.role != MatrixRole::Strip && (options.role == MatrixRole::Result || cell > context.px(34));
    view.pan = !context.view.paint.on;
    view.note = note;
    view.lies_below = !options.axis_titles && !zoom.state().whole();
    view.zoom_steps = context.view.zoom_by_key;
    view.zoom_keys = options.role == MatrixRole::Result && options.axis_titles && context.view.hover_shown.empty();
    HeatmapBefore before;
    if (options.before != nullptr) {
        before = {options.before->data, style_for(context, *options.before, options), context.view.morph.share(context.now)};
        view.before = &before;
    }
    const HeatmapResult result = heatmap_view(context.ui(), matrix.name.c_str(), box.min, box.max, matrix.data,
                                              style_for(context, matrix, options), zoom.state(), view);
    if (result.hovered) tell_packing(context, matrix, *result.hovered);
    const HeatmapGeometry geometry = heatmap_geometry(box.min, box.max, matrix.data, zoom.state());
    for (const MapHook hook : context.map_hooks) hook(context, matrix, geometry, result);
    if (options.role == MatrixRole::Result) offer_zoom(context, matrix, box, options, zoom.state());
    out.hovered = result.hovered;
    out.clicked = result.clicked;
    out.held = result.held;
    return out;
}

namespace {

ColorOptions& colors_of(PanelContext& context, const Matrix& result) {
    return result.content == Content::Probability ? context.view.probability_colors : context.view.signed_colors;
}

/// Of what the range's end is the largest number, where that is more than the map: equal colours are equal numbers in every head and text.
std::string_view whose_largest(const PanelContext& context, const Matrix& result) {
    const bool of_stage = result.origin && result.origin->parameter.empty() && !result.is_difference;
    if (!of_stage || context.structure().plan->find(result.origin->stage) == nullptr) return "";
    const Shape shape = context.structure().shape_of(result.origin->stage);
    const bool heads = (shape.has(Axis::H) || shape.has(Axis::G)) && shape[1].size > 1, texts = shape[0].size > 1;
    if (context.view.compare.on()) return "of both";
    return heads && texts ? "of all heads and texts" : heads ? "of all heads" : texts ? "of all texts" : "";
}

std::string numbers_of_range(const HeatmapStyle& style) {
    const std::string hi = format_number(static_cast<double>(style.hi), {.decimals = 2});
    return style.lo == -style.hi ? "±" + hi : fmt::format("{} to {}", format_number(static_cast<double>(style.lo), {.decimals = 2}), hi);
}

/// Which numbers the colours meant before, for a moment after these have changed; "" otherwise. While a run is played, they change all the
/// time.
std::string range_before(PanelContext& context, const Matrix& result, const HeatmapStyle& style) {
    constexpr double kSeconds = 4;
    if (context.picture_alone || style.per_row) return "";
    const std::size_t kind =
        (result.content == Content::Probability ? 1U : 0U) + (result.is_difference ? 2U : 0U) + (result.is_gradient ? 4U : 0U);
    ToldRange& told = context.view.told_ranges.at(kind);
    if (told.lo != style.lo || told.hi != style.hi) {
        const HeatmapStyle before{.lo = std::exchange(told.lo, style.lo), .hi = std::exchange(told.hi, style.hi)};
        told.was = "was " + numbers_of_range(before);
        told.until = before.lo < before.hi && !context.view.train.replaying ? context.now + kSeconds : 0;
    }
    return context.now < told.until ? told.was : "";
}

void draw_range_menu(PanelContext& context, const Matrix& result, const HeatmapStyle& style, ImVec2 at) {
    ImGui::SetCursorScreenPos(at);
    const bool capped = result.is_difference && keys_of(result) > kManyKeys && style.hi == most_of_weights(keys_of(result));
    bool gradients = context.wants_gradients();
    const std::array<MenuSwitch, 2> switches = {
        {{"Fade colours",
          &context.view.morphing,
          "between maps of the same shape",
          {.tooltip = "Colours fade within 150 ms; the numbers change at once. This setting is remembered."}},
         {"Gradients",
          &gradients,
          "of the loss, instead of the numbers (D)",
          {.tooltip = "How much the loss would change with each number.", .disabled = no_gradients(context)}}}};
    color_menu(context.ui(), "##colors", colors_of(context, result), result.content == Content::Probability, style,
               std::span(switches).first(shows_maps(context.view.view) ? 2 : 1), capped, whose_largest(context, result),
               range_before(context, result, style));
    if (gradients != context.wants_gradients()) context.view.gradients = gradients;
}

ColorBarOptions bar_of(PanelContext& context, const Matrix& result, const HeatmapStyle& style) {
    const RangeMode range = colors_of(context, result).range;
    const bool by_weights = range == RangeMode::Auto || range == RangeMode::Uniform;
    return {.cut_above = result.content == Content::Probability && style.hi < 1 && by_weights};
}

}  // namespace

void draw_color_line(PanelContext& context, const Matrix& result, ImVec2 at, float reach) {
    if (result.empty()) return;
    const HeatmapStyle style = style_for(context, result, {.stage = context.view.stage, .reach = reach});
    const float bar = lying_color_bar(context.ui(), at, style, bar_of(context, result, style));
    draw_range_menu(context, result, style, {at.x + bar + context.px(12), at.y - context.px(2)});
}

void draw_color_scale(PanelContext& context, const Matrix& result, const Box& box, bool comparing, float reach) {
    if (result.empty()) return;
    const MatrixViewOptions options{.stage = context.view.stage, .reach = reach, .comparing = comparing};
    const HeatmapStyle style = style_for(context, result, options);
    draw_range_menu(context, result, style, {box.min.x, box.min.y - context.px(kTitleHeight + kColumnLabels)});
    const HeatmapMarks marks = marks_of(context, result);
    ColorBarOptions bar = bar_of(context, result, style);
    const std::int64_t row = marks.hover_row >= 0 ? marks.hover_row : marks.row, col = marks.hover_col >= 0 ? marks.hover_col : marks.col;
    const Matrix chosen = row >= 0 && col >= 0 ? context.numbers().with_row(result, row) : result;
    if (row >= 0 && col >= 0 && chosen.data.knows(row, col) && !chosen.masked(row, col)) {
        bar.has_marker = true;
        bar.marker = chosen.at(row, col);
    }
    const float bottom = box.min.y + std::min(box.height(), context.px(400));
    const float numbers = color_bar(context.ui(), box.min, bottom, style, bar);
    // A manual range is meant for values, not for differences or gradients.
    if (!result.is_difference && !result.is_gradient && !result.is_norm_weighted)
        drag_color_ends(context.ui(), "##ends", box.min, bottom, style, colors_of(context, result), bar);
    const float stats_x = box.min.x + context.px(bar.width + 20) + numbers;
    if (stats_x + context.px(80) >= box.max.x) return;
    ImGui::SetCursorScreenPos({stats_x, box.min.y});
    if (const TensorStatistics* statistics = context.numbers().count(result))
        tensor_stats(context.ui(), *statistics, style, (box.max.x - stats_x) / context.theme.scale);
    else if (context.numbers().is_counted(result))
        draw_text(*ImGui::GetWindowDrawList(), context.theme.fonts.label, {stats_x, box.min.y}, context.theme.colors.muted, "counting …");
}

}  // namespace attn::app
