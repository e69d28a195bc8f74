#include "app/panels/views/precision_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "app/panels/files/files.hpp"
#include "app/panels/files/model_list.hpp"
#include "app/panels/kit/notice_place.hpp"
#include "app/panels/views/precision_table.hpp"
#include "app/session/states/opened_model.hpp"
#include "app/session/values/weights_beside.hpp"
#include "app/widgets/box.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/heatmap_view.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kPrecisionHead = 40, kPrecisionLine = 40, kBesideMenu = 190, kShowButton = 196, kNumbersShare = 0.46F, kTickRoom = 44;

/// A: the opened model or, if B was opened in its place, the one before.
std::shared_ptr<const OpenedModel> model_a(const PanelContext& context) {
    const PrecisionView& view = context.view.precision;
    const std::shared_ptr<const OpenedModel>&shown = context.document.model, b = view.opened_b.lock();
    return b != nullptr && shown == b ? view.opened_a.lock() : shown;
}

Answer<facet::WeightsBeside> asked_weights(const PanelContext& context) {
    PrecisionView& view = context.view.precision;
    const std::shared_ptr<const OpenedModel> model = model_a(context);
    if (model == nullptr || view.other.empty()) return {};
    if (view.last != nullptr && view.last_of == model) return {view.last, ""};
    if (view.stopped) return {};
    const auto answer = context.inquiry.ask(nullptr, facet::WeightsBeside{model, view.other, view.opening});
    if (answer) {
        view.last = answer.value;
        view.last_of = model;
    }
    return answer;
}

/// The result so far; null before the first parameter.
const WeightsBeside* known_weights(const Answer<facet::WeightsBeside>& answer) {
    if (answer) return answer.value.get();
    return answer.so_far.get();
}

std::string name_of_file(const std::string& path) { return visible_text(model_name(path), true); }

std::string percent(double share) { return format_number(100 * share, {.decimals = 2}) + " %"; }

/// The menu for choosing B: recently opened files, or a file dialog.
void draw_beside_menu(PanelContext& context, ImVec2 at) {
    PrecisionView& view = context.view.precision;
    const std::string shown = view.other.empty() ? "B: none" : "B: " + name_of_file(view.other);
    ImGui::SetCursorScreenPos(at);
    if (!begin_menu_button(context.ui(), "##beside", elide(context.theme.fonts.label, shown, context.px(kBesideMenu - 40)), kBesideMenu,
                           {.tooltip = "The file whose weights are compared: the same model at another precision, as a folder or a GGUF "
                                       "file. It can also be dropped here."}))
        return;
    if (menu_item(context.ui(), "none", view.other.empty())) view.other.clear();
    for (const std::string& recent : context.files.recent_models) {
        const bool own = context.document.model != nullptr && context.document.model->path() == recent;
        if (!own && menu_item(context.ui(), name_of_file(recent), recent == view.other, visible_text(recent, true)))
            put_model_beside(context.view, recent);
    }
    if (menu_item(context.ui(), "Choose a folder or file…", false)) begin_beside(context);
    end_menu_button();
}

/// Pins the shown state as A, opens the other model, and shows the difference between the heads.
void show_in_heads(PanelContext& context, const WeightsBeside& weights) {
    PrecisionView& view = context.view.precision;
    if (context.document.model != weights.other) {
        view.opened_a = context.document.model.shared();
        view.opened_b = weights.other;
        context.commands.push_back({command::ShowBeside{weights.other}, ""});
    }
    context.view.compare.choose(Compare::Pinned);
    context.view.compare.lay_out(CompareLayout::All);
    context.view.heads.stage = Stage::Weights;
    context.view.stage = {Stage::Weights, std::max(context.view.stage.layer, 0), context.view.stage.stack};
    context.view.view = View::Heads;
}

/// Draws progress and cancel, a problem, or a summary; at the right, the button that compares states.
void draw_line(PanelContext& context, const Answer<facet::WeightsBeside>& answer, ImVec2 at, float width) {
    const auto& [colors, fonts, scale] = context.theme;
    const Ui ui = context.ui();
    PrecisionView& view = context.view.precision;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const WeightsBeside* known = known_weights(answer);
    float right = at.x + width;
    if (known != nullptr) {
        right -= context.px(kShowButton);
        ImGui::SetCursorScreenPos({right, at.y});
        if (button(ui, "Show B − A in Heads",
                   {.look = ButtonLook::Accent,
                    .width = kShowButton,
                    .notes = {.tooltip = "What did it do to the heads? Keeps the shown state as A, opens B with the same text, and shows "
                                         "how their attention differs."}}))
            show_in_heads(context, *known);
        right -= context.px(12);
    }
    float x = at.x;
    std::string words;
    if (view.stopped) {
        ImGui::SetCursorScreenPos({x, at.y});
        if (button(ui, "compare", {.width = 84, .notes = {.tooltip = "Compares every tensor, in the background."}})) view.stopped = false;
        x += context.px(96);
        words = "Cancelled.";
    } else if (answer.computing()) {
        ImGui::SetCursorScreenPos({x, at.y + context.px(11)});
        progress_bar(ui, answer.total > 0 ? static_cast<float>(answer.done) / static_cast<float>(answer.total) : 0, 120);
        ImGui::SetCursorScreenPos({x + context.px(132), at.y});
        if (button(ui, "cancel", {.width = 72, .notes = {.tooltip = "Stops comparing."}})) view.stopped = true;
        x += context.px(216);
        words = answer.total > 0 ? fmt::format("{} of {} tensors", answer.done, answer.total) : "Opening …";
    } else if (!answer.problem.empty()) {
        words = answer.problem;
    } else {
        words = fmt::format("All numbers: relative error {}, largest error {}.", percent(answer->errors.relative),
                            format_number(answer->errors.max, {.decimals = 4}));
    }
    const bool bad = !answer.problem.empty();
    if (bad) draw_text_wrapped(list, fonts.label, {x, at.y + context.px(2)}, right - x, colors.bad, visible_text(words, true));
    else draw_text(list, fonts.label, {x, at.y + context.px(7)}, colors.muted, elide(fonts.label, words, right - x));
}

void draw_precision_heading(PanelContext& context, const WeightsBeside* known, float width) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    draw_text(list, fonts.heading, at, colors.text, "Weights, B − A");
    const float x = at.x + text_width(fonts.heading, "Weights, B − A") + context.px(12), menu = context.px(kBesideMenu);
    const std::shared_ptr<const OpenedModel> a = model_a(context);
    std::string detail = a == nullptr ? "" : "A: " + visible_text(a->name(), true);
    if (known != nullptr && known->errors.numbers > 0) detail += fmt::format(" · {} numbers", format_count(known->errors.numbers));
    const float end = at.x + width - menu - context.px(14);
    if (!leaves_to_notice(context, {{x, at.y}, {end, at.y + context.px(kNoticeLine)}}))
        draw_text(list, fonts.label, {x, at.y + context.px(9)}, colors.muted, elide(fonts.label, detail, end - x));
    if (a != nullptr) draw_beside_menu(context, {at.x + width - menu, at.y});
}

/// The numbers covered by a tile, such as "outputs 12 to 15, inputs 64 to 95".
std::string tile_words(const WeightError& error, std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
    const auto range = [](std::string_view one, std::int64_t first, std::int64_t count) {
        return count == 1 ? fmt::format("{} {}", one, first) : fmt::format("{}s {} to {}", one, first, first + count - 1);
    };
    if (error.rows == 1) return range("number", column, columns);
    return range(error.is_map ? "output" : "row", row, rows) + ", " + range(error.is_map ? "input" : "number", column, columns);
}

/// Draws the error map; a click selects a number of the tile.
void draw_error_map(PanelContext& context, const WeightError& error, const WeightErrorMap& map, const Box& box) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    PrecisionView& view = context.view.precision;
    const HeatmapStyle style{.map = ColorMap::Sequential, .lo = 0, .hi = map.largest > 0 ? map.largest : 1};
    const HeatmapData data{.values = map.rms.data(), .rows = map.map_rows, .cols = map.map_columns, .row_stride = map.map_columns};
    context.canvas.heatmap(list, box.min, box.max, {data, style});
    list.AddRect(box.min, box.max, colors.line);
    const float tile_w = box.width() / static_cast<float>(map.map_columns), tile_h = box.height() / static_cast<float>(map.map_rows);
    const auto tile = [&](std::int64_t row, std::int64_t column) {
        const ImVec2 min{box.min.x + static_cast<float>(column) * tile_w, box.min.y + static_cast<float>(row) * tile_h};
        return Box{min, {min.x + tile_w, min.y + tile_h}};
    };
    const auto frame = [&](const Box& one, Color color) {
        const float least = context.px(4);
        list.AddRect({one.min.x - 1, one.min.y - 1},
                     {std::max(one.max.x, one.min.x + least) + 1, std::max(one.max.y, one.min.y + least) + 1}, color, 0, 0, context.px(2));
    };
    if (view.cell) frame(tile(view.cell->first / map.tile_rows, view.cell->second / map.tile_columns), colors.chosen);
    ImGui::SetCursorScreenPos(box.min);
    const bool clicked = pointing_area("##errors", {box.width(), box.height()});
    if (!ImGui::IsItemHovered()) return;
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const auto row = std::clamp<std::int64_t>(static_cast<std::int64_t>((mouse.y - box.min.y) / tile_h), 0, map.map_rows - 1);
    const auto column = std::clamp<std::int64_t>(static_cast<std::int64_t>((mouse.x - box.min.x) / tile_w), 0, map.map_columns - 1);
    const std::int64_t first_row = row * map.tile_rows, first_column = column * map.tile_columns;
    if (clicked) view.cell = {first_row, first_column};
    frame(tile(row, column), colors.accent);
    begin_tooltip(context.ui());
    text_line(context.ui(), fonts.strong, colors.text,
              tile_words(error, first_row, std::min(map.tile_rows, map.rows - first_row), first_column,
                         std::min(map.tile_columns, map.columns - first_column)));
    text_line(context.ui(), fonts.mono, colors.muted,
              "rms error " +
                  format_number(static_cast<double>(map.rms[static_cast<std::size_t>(row * map.map_columns + column)]), {.decimals = 5}));
    text_line(context.ui(), fonts.label, colors.faint, "click: see these numbers one by one");
    end_tooltip();
}

/// What a tile of the map stands for.
std::string map_words(const WeightError& error, const WeightErrorMap& map) {
    std::string words = map.group > 0 && map.tile_columns == map.group && map.tile_rows == 1
                            ? fmt::format("each cell: the rms error of {} numbers that share a scale", map.group)
                        : map.tile_rows * map.tile_columns == 1
                            ? std::string("each cell: the error of a number")
                            : fmt::format("each cell: the rms error of {} × {} numbers", map.tile_rows, map.tile_columns);
    if (error.rows > 1) words += error.is_map ? "; rows are outputs, columns inputs" : "; a row is a word or a position";
    return words;
}

/// Draws the differences around the selected number, with figures if they fit.
void draw_numbers_around(PanelContext& context, const WeightError& error, const WeightNumbers& numbers, const Box& box) {
    PrecisionView& view = context.view.precision;
    float most = 0;
    for (const float difference : numbers.difference)
        if (std::isfinite(difference)) most = std::max(most, std::abs(difference));
    std::vector<std::string> rows, columns;
    for (std::int64_t r = 0; r < numbers.rows; ++r) rows.push_back(std::to_string(numbers.first_row + r));
    for (std::int64_t c = 0; c < numbers.columns; ++c) columns.push_back(std::to_string(numbers.first_column + c));
    const HeatmapData data{
        .values = numbers.difference.data(), .rows = numbers.rows, .cols = numbers.columns, .row_stride = numbers.columns};
    const HeatmapStyle style{.map = ColorMap::Diverging, .lo = -most, .hi = most > 0 ? most : 1};
    HeatmapOptions options;
    options.rows = {.label = labels_in(rows), .room = context.px(kTickRoom - 6)};
    options.cols = {.label = labels_in(columns), .room = context.px(20)};
    options.zoom = options.pan = false;
    if (view.cell) options.marks = {.row = view.cell->first - numbers.first_row, .col = view.cell->second - numbers.first_column};
    const float cell_w = box.width() / static_cast<float>(kShownWeightColumns),
                cell_h = box.height() / static_cast<float>(kShownWeightRows);
    const float wide = error.columns < kShownWeightColumns ? std::max(cell_w, context.px(30)) : cell_w;
    const float high = error.rows < kShownWeightRows ? std::max(cell_h, context.px(26)) : cell_h;
    const ImVec2 max{std::min(box.max.x, box.min.x + wide * static_cast<float>(numbers.columns)),
                     std::min(box.max.y, box.min.y + high * static_cast<float>(numbers.rows))};
    HeatmapViewState whole;
    const HeatmapResult hit = heatmap_view(context.ui(), "##numbers", box.min, max, data, style, whole, options);
    if (hit.clicked) view.cell = {numbers.first_row + hit.clicked->row, numbers.first_column + hit.clicked->col};
    if (!hit.hovered) return;
    const std::int64_t row = numbers.first_row + hit.hovered->row, column = numbers.first_column + hit.hovered->col;
    const std::size_t at = numbers.at(row, column);
    const auto& [colors, fonts, scale] = context.theme;
    begin_tooltip(context.ui());
    text_line(context.ui(), fonts.strong, colors.text, tile_words(error, row, 1, column, 1));
    text_line(context.ui(), fonts.mono, colors.text,
              fmt::format("{} − {} = {}", format_number(static_cast<double>(numbers.b[at]), {.decimals = 5}),
                          format_number(static_cast<double>(numbers.a[at]), {.decimals = 5}),
                          format_number(static_cast<double>(numbers.difference[at]), {.decimals = 5, .plus = true})));
    text_line(context.ui(), fonts.label, colors.faint, "click: how both are stored");
    end_tooltip();
}

/// Draws the selected parameter: its error map, with the numbers around the selected one below.
void draw_parameter(PanelContext& context, const WeightsBeside& weights, const WeightError& error, const Box& box) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    PrecisionView& view = context.view.precision;
    const std::shared_ptr<const OpenedModel> a = model_a(context);
    draw_text(list, fonts.strong, box.min, colors.text, elide(fonts.strong, short_weight_name(error.parameter), box.width()));
    const std::string size = error.rows == 1 ? fmt::format("[{}]", error.columns) : fmt::format("[{} × {}]", error.rows, error.columns);
    draw_text(list, fonts.mono_small, {box.min.x, box.min.y + context.px(19)}, colors.muted,
              elide(fonts.mono_small, fmt::format("{}  {} → {}", size, error.type_a, error.type_b), box.width()));
    const auto map = context.inquiry.ask(nullptr, facet::WeightErrors{a, weights.other, error.parameter});
    const float top = box.min.y + context.px(42);
    if (!map) {
        draw_text_wrapped(list, fonts.label, {box.min.x, top}, box.width(), map.problem.empty() ? colors.muted : colors.bad,
                          map.problem.empty() ? "The errors of this tensor are being computed." : map.problem);
        return;
    }
    if (view.cell && (view.cell->first >= error.rows || view.cell->second >= error.columns)) view.cell.reset();
    const std::pair<std::int64_t, std::int64_t> cell = view.cell.value_or(
        error.worst.empty() ? std::pair<std::int64_t, std::int64_t>{0, 0} : std::pair{error.worst[0].row, error.worst[0].first});
    view.cell = cell;
    const std::string legend = map_words(error, *map);
    const float words = context.px(6) + wrapped_height(fonts.caption, box.width() - context.px(kTickRoom), legend),
                numbers_high = (box.max.y - top) * kNumbersShare;
    const Box picture{{box.min.x + context.px(kTickRoom), top}, {box.max.x, box.max.y - numbers_high - words - context.px(14)}};
    const float thin = error.rows == 1 ? std::min(picture.height(), context.px(48)) : picture.height();
    draw_error_map(context, error, *map, {picture.min, {picture.max.x, picture.min.y + thin}});
    draw_text_in(list, fonts.mono_tiny, {box.min.x, picture.min.y}, {picture.min.x - context.px(6), picture.min.y + thin}, {1, 0},
                 colors.faint, "0");
    if (error.rows > 1)
        draw_text_in(list, fonts.mono_tiny, {box.min.x, picture.min.y}, {picture.min.x - context.px(6), picture.min.y + thin}, {1, 1},
                     colors.faint, std::to_string(error.rows - 1));
    draw_text_wrapped(list, fonts.caption, {picture.min.x, picture.min.y + thin + context.px(3)}, picture.width(), colors.faint, legend);
    const auto numbers = context.inquiry.ask(nullptr, facet::WeightNumbers{a, weights.other, error.parameter,
                                                                           cell.first / kShownWeightRows * kShownWeightRows,
                                                                           cell.second / kShownWeightColumns * kShownWeightColumns});
    const Box around{{box.min.x + context.px(kTickRoom), picture.min.y + thin + words + context.px(34)}, box.max};
    if (numbers) draw_numbers_around(context, error, *numbers, around);
    else if (!numbers.problem.empty()) draw_text_wrapped(list, fonts.label, around.min, around.width(), colors.bad, numbers.problem);
}

void draw_nothing_beside(PanelContext& context) {
    const auto& [colors, fonts, scale] = context.theme;
    const Ui ui = context.ui();
    if (context.document.model == nullptr) {
        paragraph(ui, fonts.body, colors.muted,
                  "What does quantizing a model to four bits cost? Open a published model, then a second file of it, such as a Q4_K GGUF "
                  "file: they are compared weight by weight and head by head.");
        gap(ui, 10);
        if (button(ui, "Open a model…", {.look = ButtonLook::Accent, .notes = {.tooltip = opened_models(context)}}))
            begin_open_model(context);
        return;
    }
    paragraph(ui, fonts.body, colors.muted,
              "What does another precision do to this model? Choose a second file of it, a folder or a GGUF file, or drop it here: every "
              "tensor is compared, and both models' heads can be seen side by side.");
    gap(ui, 10);
    if (button(ui, "Choose the other file…",
               {.look = ButtonLook::Accent, .notes = {.tooltip = "The same model at another precision: a folder or a GGUF file."}}))
        begin_beside(context);
}

void draw_value_of(const PanelContext& context, std::string_view side, float value, std::string_view type, const std::string& packed) {
    const auto& [colors, fonts, scale] = context.theme;
    value_row(context.ui(), fmt::format("{}  {}", side, type), format_exact(value));
    if (!packed.empty()) paragraph(context.ui(), fonts.label, colors.faint, packed);
    gap(context.ui(), 4);
}

void draw_worst_blocks(PanelContext& context, const WeightError& error) {
    if (error.worst.empty()) return;
    gap(context.ui(), 12);
    section_heading(context.ui(), "Its worst blocks");
    for (std::size_t i = 0; i < error.worst.size(); ++i) {
        const BlockError& block = error.worst[i];
        ImGui::PushID(static_cast<int>(i));
        if (value_row(context.ui(), tile_words(error, block.row, 1, block.first, block.count), format_number(block.rms, {.decimals = 5}),
                      "The rms error of the numbers in this block. Click to see them."))
            context.view.precision.cell = {block.row, block.first};
        ImGui::PopID();
    }
}

}  // namespace

void draw_precision_view(PanelContext& context) {
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    const Answer<facet::WeightsBeside> answer = asked_weights(context);
    const WeightsBeside* known = known_weights(answer);
    draw_precision_heading(context, known, room.x);
    ImGui::SetCursorScreenPos({at.x, at.y + context.px(kPrecisionHead)});
    if (context.document.model == nullptr || context.view.precision.other.empty()) return draw_nothing_beside(context);
    draw_line(context, answer, {at.x, at.y + context.px(kPrecisionHead)}, room.x);
    if (known == nullptr || known->errors.parameters.empty()) return;
    const float top = at.y + context.px(kPrecisionHead + kPrecisionLine);
    const float table = std::clamp(room.x * 0.46F, context.px(300), context.px(560));
    draw_weight_table(context, known->errors, {{at.x, top}, {at.x + table, at.y + room.y}});
    if (const WeightError* error = chosen_weight(context, known->errors))
        draw_parameter(context, *known, *error, {{at.x + table + context.px(20), top}, {at.x + room.x, at.y + room.y}});
}

void draw_precision_cell(PanelContext& context) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    section_heading(ui, "This weight");
    const Answer<facet::WeightsBeside> answer = asked_weights(context);
    const WeightsBeside* known = known_weights(answer);
    const WeightError* error = known == nullptr ? nullptr : chosen_weight(context, known->errors);
    if (error == nullptr) {
        paragraph(ui, fonts.body, colors.muted, "The chosen number in both files of the model, and how each stores it.");
        return;
    }
    const auto& cell = context.view.precision.cell;
    text_line(ui, fonts.mono, colors.text, elide(fonts.mono, short_weight_name(error->parameter), ImGui::GetContentRegionAvail().x));
    if (cell) {
        text_line(ui, fonts.label, colors.muted, tile_words(*error, cell->first, 1, cell->second, 1));
        gap(ui, 6);
        const auto numbers = context.inquiry.ask(nullptr, facet::WeightNumbers{model_a(context), known->other, error->parameter,
                                                                               cell->first / kShownWeightRows * kShownWeightRows,
                                                                               cell->second / kShownWeightColumns * kShownWeightColumns});
        if (numbers && numbers->has(cell->first, cell->second)) {
            const std::size_t i = numbers->at(cell->first, cell->second);
            draw_value_of(context, "A", numbers->a[i], error->type_a, numbers->packed_a[i]);
            draw_value_of(context, "B", numbers->b[i], error->type_b, numbers->packed_b[i]);
            separator(ui);
            value_row(ui, "B − A", format_number(static_cast<double>(numbers->difference[i]), {.decimals = 6, .plus = true}));
        }
    }
    gap(ui, 12);
    section_heading(ui, "Its tensor");
    value_row(ui, "rms error", format_number(error->rms, {.decimals = 5}));
    value_row(ui, "relative error", percent(error->relative), "The rms error divided by the rms of A's numbers.");
    value_row(ui, "largest error", format_number(error->max, {.decimals = 5}));
    draw_worst_blocks(context, *error);
}

}  // namespace attn::app
