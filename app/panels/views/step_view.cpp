#include "app/panels/views/drawn_views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/panels/compare/colors.hpp"
#include "app/panels/compare/comparison.hpp"
#include "app/panels/compare/matrix_view.hpp"
#include "app/panels/edit/paint_mask.hpp"
#include "app/panels/kit/emit.hpp"
#include "app/panels/kit/labels.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/kit/pane.hpp"
#include "app/panels/kit/stage_words.hpp"
#include "app/panels/kit/stations.hpp"
#include "app/panels/maps/equation.hpp"
#include "app/panels/maps/equation_layout.hpp"
#include "app/panels/maps/gradients.hpp"
#include "app/panels/views/look_at_line.hpp"
#include "app/panels/views/stage_walk.hpp"
#include "app/panels/views/token_path_view.hpp"
#include "app/panels/views/token_table.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/heatmap_geometry.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/shape_text.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/token_chips.hpp"
#include "engine/plan/head_of.hpp"

namespace attn::app {
namespace {

constexpr float kStepHeader = 40, kLowHeader = 32, kRoomForSentence = 470, kArrow = 34;

/// Replaces all values with loss gradients; matrices without gradients (one-hot rows) stay.
void show_gradients(PanelContext& context, Equation& equation, StageText& text) {
    const NumberDesk numbers = context.numbers();
    const LossOfGradients of = numbers.loss_of_gradients().value_or(LossOfGradients{});
    const auto replace = [&](Matrix& matrix) {
        Matrix gradient = numbers.gradient(matrix);
        if (!gradient.empty()) matrix = std::move(gradient);
    };
    for (Matrix& operand : equation.operands) replace(operand);
    replace(equation.result);
    equation.row_sums = false;
    equation.backward = true;
    text.formula = "∂loss ÷ ∂" + stage_name(context.view.stage);
    text.sentence = fmt::format("Gradient of the loss with respect to each number. Loss: {} nats, over {} predictions.",
                                format_number(of.loss, {.decimals = 4}), of.counted);
}

/// "step 10 of 15" and the buttons to its neighbours, right-aligned at `right`; returns where it begins.
float draw_steps(PanelContext& context, float right, float y, const std::vector<Station>& stations) {
    if (context.picture_alone) return right;
    const auto& [colors, fonts, scale] = context.theme;
    float x = right;
    const auto put = [&](const char* label, Icon icon, std::string_view tooltip) {
        x -= context.px(kArrow);
        ImGui::SetCursorScreenPos({x, y});
        x -= context.px(4);
        return button(context.ui(), label, {.width = kArrow, .icon = icon, .notes = {.tooltip = tooltip}});
    };
    if (put("##next", Icon::Next, "Next stage (Right)")) walk_stations(context, +1);
    if (put("##previous", Icon::Previous, "Previous stage (Left)")) walk_stations(context, -1);
    const std::size_t at = station_with(stations, context.view.stage);
    const Station& station = stations[at];
    std::string words = fmt::format("step {} of {}", at + 1, stations.size());
    if (station.stages.size() > 1)
        words = fmt::format("{} · ‹ {} of {} ›", words,
                            std::find(station.stages.begin(), station.stages.end(), context.view.stage) - station.stages.begin() + 1,
                            station.stages.size());
    x -= text_width(fonts.label, words) + context.px(6);
    draw_text(*ImGui::GetWindowDrawList(), fonts.label, {x, y + context.px(8)}, colors.muted, words);
    return x - context.px(14);
}

/// Draws the shape with a tooltip that explains its letters; a click opens the glossary.
void draw_explained_shape(PanelContext& context, ImVec2 at, float room, const Shape& shape) {
    ImFont* font = context.theme.fonts.mono_small;
    const std::vector<ColoredText> runs = shape_runs(context.theme, shape);
    const float width = runs_width(font, runs);
    if (context.picture_alone || width > room) return;
    item_at(context.ui(), "##shape", at, {width, context.px(18)}, {.tooltip = shape_words(shape), .keyboard = false});
    draw_runs(*ImGui::GetWindowDrawList(), font, at, runs);
}

/// Where a number was followed, "weights › scores › q", as much of it around the shown place as there is room for. A click goes there.
void draw_trail(PanelContext& context, ImVec2 at, float room) {
    const auto& [colors, fonts, scale] = context.theme;
    ImFont* const font = fonts.mono_small;
    const Trail& trail = context.view.trail;
    constexpr std::string_view kBetween = " › ";
    const float between = text_width(font, kBetween);
    std::vector<std::string> names;
    for (const TrailPlace& place : trail.places) names.push_back(stage_name(place.stage));
    const auto width_of = [&](std::size_t i) { return text_width(font, names[i]); };
    std::size_t first = trail.at, end = trail.at + 1;
    float width = width_of(trail.at);
    if (context.picture_alone || width > room) return;
    while (first > 0 && width + between + width_of(first - 1) <= room) width += between + width_of(--first);
    while (end < names.size() && width + between + width_of(end) <= room) width += between + width_of(end++);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    for (std::size_t i = first; i < end; ++i) {
        const float one = width_of(i);
        ImGui::PushID(static_cast<int>(i));
        const Item item = item_at(context.ui(), "##trail", at, {one, context.px(18)},
                                  {.tooltip = "Where the number was followed: Alt + ← → go along it.", .words = names[i]});
        ImGui::PopID();
        draw_text(list, font, at, i == trail.at ? colors.text : item.hovered ? colors.accent : colors.muted, names[i]);
        draw_focus_ring(context.ui(), item, context.px(3));
        if (item.pressed) context.view.trail.wanted = i;
        at.x += one;
        if (i + 1 < end) draw_text(list, font, at, colors.faint, kBetween);
        at.x += between;
    }
}

/// `code`: the name of the stage whose numbers are drawn.
void draw_header(PanelContext& context, const StageText& text, const std::string& code) {
    const auto& [colors, fonts, scale] = context.theme;
    const StageId& id = context.view.stage;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    const std::vector<Station> stations = stations_of(*context.structure().plan, id, true);
    const float steps = draw_steps(context, at.x + width, at.y, stations);
    const float end = steps - draw_gradient_chip(context, steps, at.y) - context.px(8);
    const bool there = context.missing(id).empty();
    const ComparedSide in_place = side_in_place(context);
    const Structure& structure = in_place.empty() ? context.structure() : in_place.of.structure();
    const std::int64_t head = in_place.empty() ? context.view.head : in_place.head;
    const int layer = in_place.empty() ? id.layer : in_place.stage.layer;
    const Shape shape = structure.shape_of(in_place.empty() ? id : in_place.stage);
    // The title in words comes first; code name, place and shape follow in small type.
    std::string where = id.stack == Stack::Encoder ? "encoder · " : id.stack == Stack::Decoder ? "decoder · " : "";
    if (layer >= 0) where += fmt::format("layer {}", layer);
    else if (where.ends_with(" · ")) where.resize(where.size() - std::string_view(" · ").size());
    if (there && has_heads(shape)) where += fmt::format(" · head {}", head);
    if (there && shape.has(Axis::G)) where += fmt::format(" reads key/value head {}", head_of(structure.config, shape, head));
    const std::string brief = layer < 0 ? "" : fmt::format("L{}{}", layer, there && has_heads(shape) ? fmt::format(" H{}", head) : "");
    const float for_place = brief.empty() ? 0 : text_width(fonts.label, brief) + context.px(12);
    ImFont* const font = text_width(fonts.heading, text.title) + for_place > end - at.x ? fonts.title : fonts.heading;
    const std::string title = elide(font, text.title, end - at.x);
    // Aligns the baselines of different font sizes.
    draw_text(list, font, {at.x, at.y + (font_size(fonts.heading) - font_size(font)) * 0.8F}, colors.text, title);
    float x = at.x + text_width(font, title) + context.px(12);
    context.view.focus.note_read({at, {x, at.y + font_size(fonts.heading)}});
    // If not everything fits, the place is more important than the code name.
    const float code_width = text_width(fonts.mono_small, code) + context.px(10);
    if (x + code_width + text_width(fonts.label, where) <= end) {
        draw_text(list, fonts.mono_small, {x, at.y + context.px(10)}, colors.muted, code);
        x += code_width;
    }
    if (text_width(fonts.label, where) > end - x) where = text_width(fonts.label, brief) > end - x ? "" : brief;
    draw_text(list, fonts.label, {x, at.y + context.px(9)}, colors.muted, where);
    x += text_width(fonts.label, where) + context.px(where.empty() ? 0 : 14);
    const float room = end - x;
    if (is_on_trail(context.view)) draw_trail(context, {x, at.y + context.px(9)}, room);
    else if (there) draw_explained_shape(context, {x, at.y + context.px(9)}, room, shape);
}

void draw_text_block(const PanelContext& context, const Box& box, const StageText& text) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const std::array<ImFont*, 3> sizes = {fonts.formula, fonts.mono_body, fonts.mono_small};
    const auto fits = [&](ImFont* one) { return text_width(one, text.formula) <= box.width(); };
    const auto found = std::find_if(sizes.begin(), sizes.end(), fits);
    ImFont* font = found != sizes.end() ? *found : sizes.back();
    const std::string formula = elide(font, text.formula, box.width());
    draw_text(list, font, box.min, colors.text, formula);
    context.view.focus.note_read({box.min, {box.min.x + text_width(font, formula), box.min.y + font_size(font)}});
    const ImVec2 at{box.min.x, box.min.y + std::min(context.px(32), font_size(font) + context.px(10))};
    const float room = box.max.y - at.y;
    // In a low window the sentence is written smaller, and if need be cut off above the operand.
    for (ImFont* small : {fonts.label, fonts.caption})
        if (wrapped_height(small, box.width(), text.sentence) <= room + context.px(2))
            return void(draw_text_wrapped(list, small, at, box.width(), colors.muted, text.sentence));
    const float line = font_size(fonts.caption);
    std::vector<std::string> lines = lines_of(fonts.caption, text.sentence, box.width());
    const auto fit = static_cast<std::size_t>(std::max(room / line, 0.F));
    if (fit == 0) return;
    lines.resize(std::min(fit, lines.size()));
    lines.back() = elide(fonts.caption, lines.back() + " …", box.width());
    for (std::size_t i = 0; i < lines.size(); ++i)
        draw_text(list, fonts.caption, {at.x, at.y + line * static_cast<float>(i)}, colors.muted, lines[i]);
}

float text_block_height(const PanelContext& context, float width, const StageText& text) {
    return context.px(32) + wrapped_height(context.theme.fonts.label, width, text.sentence);
}

void draw_operator(const PanelContext& context, const Box& left, const Box& right, const std::string& op) {
    const auto& [colors, fonts, scale] = context.theme;
    const ImVec2 min{left.max.x, left.min.y}, max{right.min.x, left.max.y};
    ImFont* font = text_width(fonts.title, op) < max.x - min.x ? fonts.title : fonts.mono_tiny;
    draw_text_in(*ImGui::GetWindowDrawList(), font, min, max, {0.5F, 0.5F}, colors.muted, op);
}

/// Draws an arrow from input to result, or back, with the operation above it, such as "÷ √8", in as many lines as it needs.
void draw_arrow(const PanelContext& context, const Box& left, const Box& right, const std::string& op, bool backward) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float y = (left.min.y + left.max.y) / 2, x0 = left.max.x + context.px(6), x1 = right.min.x - context.px(6), tip = context.px(5);
    const std::vector<std::string> words = lines_of(fonts.label, op, x1 - x0);
    for (std::size_t i = 0; i < words.size(); ++i) {
        const float bottom = y - context.px(6) - static_cast<float>(words.size() - 1 - i) * font_size(fonts.label);
        draw_text_in(list, fonts.label, {left.max.x, bottom - context.px(20)}, {right.min.x, bottom}, {0.5F, 0.5F}, colors.muted, words[i]);
    }
    list.AddLine({x0, y}, {x1, y}, colors.muted, context.px(1.5F));
    const float point = backward ? x0 : x1, base = backward ? x0 + tip : x1 - tip;
    list.AddTriangleFilled({point, y}, {base, y - tip}, {base, y + tip}, colors.muted);
}

/// A click selects a cell, a second click deselects it.
void lock_cell(ViewState& view, const Matrix& matrix, const HeatmapCell& cell) {
    const bool again = view.locked.on(matrix.row_axis) == cell.row && view.locked.on(matrix.col_axis) == cell.col;
    if (again) {
        view.locked.clear();
        return;
    }
    view.locked.set(matrix.row_axis, cell.row);
    view.locked.set(matrix.col_axis, cell.col);
}

/// Records the shown map, so that the next one of its shape can be animated from it.
void follow_morph(PanelContext& context, const Equation& equation) {
    ViewState& view = context.view;
    if (view.compare.on() || shows_gradients(context) || equation.result.empty()) return view.morph.stop();
    view.morph.show({view.stage, view.head, view.batch, equation.result.data.rows, equation.result.data.cols, context.snapshot.serial},
                    context.now, view.morphing);
}

/// The map that the animation comes from; empty if there is none.
Matrix come_from(PanelContext& context) {
    const ShownMap& from = context.view.morph.from();
    if (!context.view.morph.moving(context.now) || from.head < 0) return {};
    return context.numbers()
        .numbers({.of = context.shown(), .stage = from.stage, .sequence = from.batch, .head = from.head, .beside = context.view.stage})
        .map;
}

/// Draws a matrix of the equation with its title and handles hovering and clicks.
void draw_part(PanelContext& context, const Matrix& matrix, const Box& box, MatrixRole role, bool row_labels, bool col_labels,
               bool comparing, bool summed_over = false, float column_room = 0) {
    const Matrix before = role == MatrixRole::Result ? come_from(context) : Matrix();
    if (matrix.empty() || box.width() < 2 || box.height() < 2) return;
    const MatrixViewResult result = draw_matrix(context, matrix, box,
                                                {.role = role,
                                                 .row_labels = row_labels,
                                                 .col_labels = col_labels,
                                                 .column_room = column_room,
                                                 .stage = context.view.stage,
                                                 .comparing = comparing,
                                                 .before = before.empty() ? nullptr : &before,
                                                 .summed_over = summed_over});
    if (result.hovered) {
        if (!summed_over || role != MatrixRole::Top) context.view.hovered.set(matrix.row_axis, result.hovered->row);
        if (!summed_over || role != MatrixRole::Left) context.view.hovered.set(matrix.col_axis, result.hovered->col);
    }
    const bool paints = context.view.paint.on && matrix.row_axis == Axis::T && matrix.col_axis == Axis::S;
    if (paints && result.held && result.hovered) paint(context, matrix, *result.hovered);
    if (!paints && result.clicked) lock_cell(context.view, matrix, *result.clicked);
    if (result.title_clicked && matrix.origin && matrix.origin->parameter.empty()) context.view.stage = matrix.origin->stage;
}

void draw_product(PanelContext& context, const Equation& equation, const EquationLayout& layout, bool labels) {
    // W_O is square: its summed axis has the same letter as the result's columns.
    const bool same_letter = equation.operands[0].col_axis == equation.result.col_axis;
    draw_part(context, equation.operands[0], layout.operands[0], MatrixRole::Left, true, false, false, same_letter);
    draw_part(context, equation.operands[1], layout.operands[1], MatrixRole::Top, false, false, false, same_letter);
    if (equation.operands.size() > 2) draw_part(context, equation.operands[2], layout.operands[2], MatrixRole::Strip, false, false, false);
    Matrix result = equation.result;
    result.symbol.clear();  // the heading already names it
    draw_part(context, result, layout.result, MatrixRole::Result, false, labels, false, false, layout.column_labels);
}

/// Draws the difference with labels, and the two states beside it.
void draw_difference(PanelContext& context, const Equation& equation, const EquationLayout& layout, bool labels) {
    for (std::size_t i = 0; i < equation.operands.size(); ++i)
        draw_part(context, equation.operands[i], layout.operands[i], MatrixRole::Input, false, false, true);
    draw_part(context, equation.result, layout.result, MatrixRole::Result, true, labels, true, false, layout.column_labels);
}

/// The result together with the labels of its rows.
Box with_labels(const Box& result, const EquationLayout& layout) { return {{result.min.x - layout.row_labels, result.min.y}, result.max}; }

void draw_row(PanelContext& context, const Equation& equation, const EquationLayout& layout, bool labels, bool comparing) {
    const bool rowwise = equation.layout == Layout::Rowwise;
    const std::size_t in_row = rowwise ? 1 : equation.operands.size();
    for (std::size_t i = 0; i < equation.operands.size(); ++i) {
        const bool strip = i >= in_row;
        if (layout.beside && layout.operands[i].width() < 2) continue;
        draw_part(context, equation.operands[i], layout.operands[i], strip ? MatrixRole::Strip : MatrixRole::Input,
                  i == 0 && !layout.beside, !strip && !rowwise && labels, comparing, false, layout.column_labels);
        if (strip) continue;
        const Box& next = i + 1 < in_row ? layout.operands[i + 1] : layout.result;
        const bool last = i + 1 == in_row;
        if (rowwise)
            draw_arrow(context, layout.operands[i], layout.beside ? with_labels(next, layout) : next, equation.op, equation.backward);
        else if (equation.backward && last) draw_arrow(context, layout.operands[i], next, "", true);
        else if (equation.backward) continue;
        else if (!equation.op.empty()) draw_operator(context, layout.operands[i], next, last ? "=" : equation.op);
    }
    Matrix result = equation.result;
    if (equation.operands.size() > in_row) result.symbol.clear();  // strips take its place
    if (layout.beside) result.symbol.clear();                      // the heading names it
    draw_part(context, result, layout.result, MatrixRole::Result, equation.operands.empty() || equation.rows_differ || layout.beside,
              labels, comparing, false, layout.column_labels);
}

/// Draws the sums of visible rows beside the result: 1 for a softmax, anything after dropout.
void draw_row_sums(PanelContext& context, const Equation& equation, const Box& box) {
    const auto& [colors, fonts, scale] = context.theme;
    const Matrix sums = context.numbers().row_sums(equation.result);
    if (sums.empty()) return;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_text_in(list, fonts.mono_small, {box.min.x, box.min.y - context.px(20)}, {box.max.x, box.min.y}, {0.5F, 0.5F}, colors.muted,
                 "row sum");
    // Follow the zoom of the map.
    const HeatmapViewState& zoom = context.view.zooms[tensor_name(context.view.stage)];
    const HeatmapGeometry shown = heatmap_geometry(box.min, box.max, sums.data, zoom);
    const float half = font_size(fonts.mono_small) / 2;
    const std::int64_t chosen = context.view.locked.on(Axis::T).value_or(-1);
    for (const auto& [row, middle] : labelled_rows(shown, 2 * half + context.px(1), chosen)) {
        const float value = sums.at(row, 0);
        const bool one = value > 0.9995F && value < 1.0005F;
        draw_text_in(list, fonts.mono_small, {box.min.x, middle - half}, {box.max.x, middle + half}, {0.5F, 0.5F},
                     one ? colors.faint : colors.chosen_text, format_number(static_cast<double>(value)));
    }
}

/// Draws the switch between tokenization steps and the table of pieces; returns its height.
float draw_path_switch(PanelContext& context, const Box& area) {
    static constexpr std::array<std::string_view, 2> kWays = {"steps", "table"};
    int way = context.view.token_path.table ? 1 : 0;
    ImGui::SetCursorScreenPos(area.min);
    if (segmented(context.ui(), "##way", kWays, way, segmented_width(context.ui(), kWays),
                  {.tooltip = "Shows how the text became these pieces, or only the pieces."}))
        context.view.token_path.table = way == 1;
    if (!context.view.token_path.table) draw_other_tokenizer_menu(context, {area.max.x, area.min.y});
    return context.px(38);
}

/// A remark on a difference. Masked cells have a number in at most one of the states.
const char* difference_words(const PanelContext& context, const Matrix& shown) {
    constexpr const char* kHint = "Hold X to swap A and B.";
    if (!shown.is_difference) return kHint;
    const TensorStatistics& found = context.numbers().statistics(shown);
    if (found.min != 0 || found.max != 0 || found.nan + found.infinite > 0) return kHint;
    if (!shown.in_blocks() && found.empty()) return "No cell has a number in both states.";
    const bool masked = shown.in_blocks() ? shown.data.keep != nullptr : found.masked > 0;
    return masked ? "Where both have a number, they are identical." : "Here they are identical.";
}

/// Whether a setting may change the sums of a stage's rows, which are otherwise 1.
bool may_change_sums(const ForwardSettings& settings, Stage stage) {
    const bool drops = stage == Stage::Dropped && settings.dropout.attention > 0;
    return drops || settings.mistaken() ||
           std::any_of(settings.edits.begin(), settings.edits.end(), [](const Edit& edit) { return edit.on; });
}

/// Whether row sums are worth showing: if any of them differs from 1, or in a large matrix, if any may.
bool shows_row_sums(const PanelContext& context, const Matrix& matrix) {
    if (matrix.empty() || matrix.in_blocks() || !matrix.origin || !matrix.of) return false;
    if (!is_small(matrix)) return may_change_sums(matrix.of->of.structure().settings, matrix.origin->stage.stage);
    const Matrix sums = context.numbers().row_sums(matrix);
    for (std::int64_t row = 0; row < sums.data.rows; ++row)
        if (!(std::abs(sums.at(row, 0) - 1) < 5e-4F)) return true;
    return false;
}

/// What the centre shows for a stage.
struct Picture {
    Equation equation;
    StageText text;
    bool comparing = false;
    Reason problem{};      ///< why the requested comparison is not shown
    std::string remark{};  ///< why it is shown in another layout, or why nothing differs
};

/// Replaces the shown state with the other one while the key is held.
void show_in_place(PanelContext& context, Picture& picture) {
    const ComparedSide a = side_in_place(context);
    if (a.empty()) return;
    picture.equation = equation_of(context.numbers(), a.of, a.stage, a.batch, a.head);
    picture.text = text_of(a.of.structure(), a.stage, token_noun(*a.of.snapshot));
    picture.text.title += " · " + a.name;
}

void compare(PanelContext& context, Picture& picture) {
    const ComparedSides sides = compared_sides(context, context.view.stage, context.view.head);
    if (context.view.compare.layout == CompareLayout::InPlace) {
        picture.problem = sides.a.missing;
        return show_in_place(context, picture);
    }
    ComparisonPicture compared = comparison_picture(context, sides);
    picture.problem = std::move(compared.problem);
    if (!picture.problem.empty()) return;
    picture.remark = std::move(compared.remark);
    picture.equation = std::move(compared.equation);
    picture.text.formula = std::move(compared.formula);
    picture.text.sentence = fmt::format("{}: {}. {}: {}. {}", sides.first, sides.a.name, sides.second, sides.b.name,
                                        difference_words(context, picture.equation.result));
    picture.comparing = true;
}

Picture picture_of(PanelContext& context) {
    const StageId& id = context.view.stage;
    Picture picture{equation_of(context.numbers(), context.shown(), id, context.view.batch, context.view.head),
                    text_of(context.structure(), id, token_noun(context.snapshot))};
    // The stage that a station is named after has its heading; the others of the station keep their own.
    const std::vector<Station> stations = stations_of(*context.structure().plan, id, true);
    if (const Station& station = stations[station_with(stations, id)]; station.opens == id)
        picture.text.title = station_heading(station, token_noun(context.snapshot));
    if (id.stage == Stage::Tokens) {
        if (has_token_path(context)) picture.text.title = "From text to pieces";
        return picture;
    }
    if (context.view.compare.on()) compare(context, picture);
    else if (shows_gradients(context)) show_gradients(context, picture.equation, picture.text);
    else if (const std::string missing = missing_gradients(context); !missing.empty()) picture.text.sentence = missing;
    if (picture.equation.row_sums) picture.equation.row_sums = !context.view.paint.on && shows_row_sums(context, picture.equation.result);
    return picture;
}

/// In the lowest windows a small picture of the input could not be read: the input can be drawn where the result stands.
bool can_draw_input(const PanelContext& context, const Equation& equation) {
    constexpr float kLowest = 640;
    if (ImGui::GetIO().DisplaySize.y >= context.px(kLowest) || equation.layout != Layout::Rowwise || equation.operands.size() != 1)
        return false;
    const std::optional<CellRef>& origin = equation.operands.front().origin;
    return origin && origin->parameter.empty();
}

/// The stage whose numbers are drawn: the chosen one or its input.
StageId drawn_stage(const PanelContext& context, const Equation& equation) {
    const StageId& id = context.view.stage;
    return can_draw_input(context, equation) && context.view.input_of == id ? equation.operands.front().origin->stage : id;
}

/// The switch between the two, in the place of the small picture.
void switch_to_input(PanelContext& context, Equation& equation, EquationLayout& layout) {
    constexpr float kSwitch = 44, kBelowText = 6;
    const StageId& id = context.view.stage;
    const std::string from = stage_name(equation.operands.front().origin->stage), to = stage_name(id);
    const std::array<std::string_view, 2> names = {from, to};
    const bool of_input = drawn_stage(context, equation) != id;
    int shown = of_input ? 0 : 1;
    const float y = layout.bar.min.y - context.px(kSwitch);
    layout.text.max.y = std::min(layout.text.max.y, y - context.px(kBelowText));
    ImGui::SetCursorScreenPos({layout.bar.min.x, y});
    if (segmented(context.ui(), "##input", names, shown, segmented_width(context.ui(), names),
                  {.tooltip = "What this stage makes its numbers of, or these numbers."}))
        context.view.input_of = shown == 0 ? std::optional(id) : std::nullopt;
    layout.operands.front() = {};
    if (!of_input) return;
    std::swap(equation.operands.front(), equation.result);
    equation.row_sums = false;
    context.view.morph.stop();
}

void draw_picture(PanelContext& context, Picture& picture, const Box& area, float text_height) {
    Equation& equation = picture.equation;
    const bool labels = equation.result.col_axis == Axis::S || equation.result.col_axis == Axis::V || equation.result.col_axis == Axis::T;
    EquationLayout layout = lay_out_equation(equation, area, context.theme.scale, text_height, labels);
    follow_morph(context, equation);
    if (layout.beside && can_draw_input(context, equation)) switch_to_input(context, equation, layout);
    draw_text_block(context, layout.text, picture.text);
    if (equation.layout == Layout::Product) draw_product(context, equation, layout, labels);
    else if (equation.layout == Layout::Difference) draw_difference(context, equation, layout, labels);
    else draw_row(context, equation, layout, labels, picture.comparing);
    if (equation.row_sums) draw_row_sums(context, equation, layout.row_sums);
    if (layout.bar_lies) draw_color_line(context, equation.result, layout.bar.min, 0);
    else draw_color_scale(context, equation.result, layout.bar, picture.comparing);
}

/// Draws a remark above the picture; returns its height.
float draw_remark(const PanelContext& context, const Box& area, std::string_view remark, Color color) {
    if (remark.empty()) return 0;
    ImFont* font = context.theme.fonts.label;
    draw_text_wrapped(*ImGui::GetWindowDrawList(), font, area.min, area.width(), color, remark);
    return wrapped_height(font, area.width(), remark) + context.px(10);
}

}  // namespace

void draw_step_view(PanelContext& context) {
    if (!context.ready()) return;
    end_stroke(context.view);
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    const ImVec2 room = ImGui::GetContentRegionAvail();
    Picture picture = picture_of(context);
    // In a low window the explanation is dropped in favour of the picture.
    if (room.y < context.px(kRoomForSentence) && picture.equation.layout != Layout::Product && context.view.stage.stage != Stage::Tokens &&
        !is_attention_map(context.view.stage.stage))
        picture.text.sentence.clear();
    const StageId drawn = drawn_stage(context, picture.equation);
    if (drawn != context.view.stage) picture.text.title = stage_title(drawn, token_noun(context.snapshot));
    draw_header(context, picture.text, drawn.stage == Stage::Other ? "" : stage_name(drawn));
    if (const Reason missing = context.missing(context.view.stage); !missing.empty()) {
        ImGui::SetCursorScreenPos({origin.x, origin.y + context.px(kStepHeader)});
        return void(paragraph(context.ui(), context.theme.fonts.body, context.theme.colors.muted, missing.words));
    }
    // While a mask is painted the picture stays in place. Otherwise the first painted cell would remove the line below and add the sums.
    const float header = context.px(is_low_window(context) ? kLowHeader : kStepHeader);
    Box area{{origin.x, origin.y + header}, {origin.x + room.x, origin.y + room.y}};
    if (!context.view.paint.on) area.min.y += draw_look_at(context, area.min, room.x);
    area.min.y += draw_remark(context, area, picture.problem.words, problem_color(context, picture.problem));
    area.min.y += draw_remark(context, area, picture.remark, context.theme.colors.muted);
    if (context.view.paint.on && is_attention_map(context.view.stage.stage))
        area.min.y += draw_remark(
            context, area, "Painting the mask: drag over cells to forbid them, or over painted ones to allow them again. Esc ends it.",
            context.theme.colors.chosen_text);
    const float text_height = text_block_height(context, area.width(), picture.text);
    if (context.view.stage.stage == Stage::Tokens && has_token_path(context)) {
        const float switch_height = draw_path_switch(context, area);
        area.min.y += switch_height;
        if (context.view.token_path.table) draw_token_table(context, area);
        else draw_token_path(context, area);
        return;
    }
    if (context.view.stage.stage == Stage::Tokens) {
        draw_text_block(context, {area.min, {area.max.x, area.min.y + text_height}}, picture.text);
        draw_token_table(context, {{area.min.x, area.min.y + text_height + context.px(24)}, area.max});
        return;
    }
    draw_picture(context, picture, area, text_height);
}

}  // namespace attn::app
