#include "app/panels/views/drawn_views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/panels/compare/comparison.hpp"
#include "app/panels/kit/figure.hpp"
#include "app/panels/kit/labels.hpp"
#include "app/panels/kit/part_words.hpp"
#include "app/panels/kit/readings_age.hpp"
#include "app/panels/kit/scrolled.hpp"
#include "app/panels/views/lens_numbers.hpp"
#include "app/panels/write/fill_in_view.hpp"
#include "app/session/values/readings.hpp"
#include "app/widgets/box.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/token_chips.hpp"

namespace attn::app {
namespace {

constexpr float kLensHeader = 40, kLensLabels = 150, kColumnHead = 44, kLeastCell = 28, kNamedCell = 76, kSnugShare = 0.62F,
                kMaxLensCell = 128, kLeastToken = 30, kLeastRow = 26, kMostRow = 184, kGuess = 18;
constexpr int kMostGuesses = 3;
constexpr float kComparedRow = 42;
constexpr HeatmapStyle kProbability{.map = ColorMap::Sequential, .lo = 0, .hi = 1};

/// The result so far.
struct LensSoFar {
    const LensReading* readings = nullptr;
    const LogitLens* lens = nullptr;  ///< its lens
    std::size_t known = 0;            ///< number of layers with predictions
    std::string problem{};
    bool whole() const { return lens != nullptr && known == lens->stages.size(); }
};

LensSoFar lens_of(const PanelContext& context) {
    const auto answer = context.ask_latest(facet::Lens{});  // the answer's values stay alive for this frame
    const LensReading* readings = answer ? answer.value.get() : answer.so_far.get();
    LensSoFar out;
    out.problem = answer.problem;
    if (readings == nullptr || !readings->lens) return out;
    out.readings = readings;
    out.lens = &*readings->lens;
    out.known = static_cast<std::size_t>(std::count(out.lens->known.begin(), out.lens->known.end(), 1));
    return out;
}

std::string token_text(const PanelContext& context, std::int32_t id) { return shown_token(context.snapshot.vocabulary, id); }

/// A part of a character has the colour of its chip, mixed with the usual one until it can be read on `background`.
Color token_ink(const PanelContext& context, std::int32_t id, Color usual, Color background) {
    const auto& vocabulary = context.snapshot.vocabulary;
    const bool known = id >= 0 && static_cast<std::size_t>(id) < vocabulary.size();
    if (!known || !has_part_of_character(vocabulary[static_cast<std::size_t>(id)])) return usual;
    const Color of_chip = context.theme.colors.axis_d;
    for (const float share : {0.F, 0.25F, 0.5F, 0.75F})
        if (const Color ink = mix(of_chip, usual, share); contrast(ink, background) >= kReadable) return ink;
    return usual;
}

/// -1 for padding, and if there is none.
std::int32_t token_at(const PanelContext& context, std::int64_t batch, std::int64_t t) {
    const TokenBatch& tokens = context.structure().tokens;
    return t < tokens.lengths[static_cast<std::size_t>(batch)] ? tokens.ids[static_cast<std::size_t>(batch * tokens.length + t)] : -1;
}

/// A cell predicts the word "after" that of its column, or, in an encoder, the one "at" its place.
std::string_view place_words(const PanelContext& context) { return reads_both_ways(context) ? "at" : "after"; }

/// The state that the table is compared with.
struct OtherLens {
    const LensReading* readings = nullptr;  ///< null: none
    const LogitLens* lens = nullptr;        ///< its lens
    std::int64_t batch = 0;
    std::string name, problem;  ///< `problem`: why it is not available
    bool one_state = false;     ///< it is the shown one
};

OtherLens other_lens(PanelContext& context, const LogitLens& lens) {
    OtherLens other;
    if (!context.view.compare.on()) return other;
    const ComparedReading<facet::Lens> compared = compared_lens(context);
    other.name = compared.name;
    other.batch = compared.batch;
    other.one_state = compared.one_state;
    other.problem = compared.missing.words;
    if (compared.reading == nullptr) return other;
    const auto& found = compared.reading->lens;
    if (found && std::count(found->known.begin(), found->known.end(), 0) > 0) return other;
    other.problem.clear();
    if (!found || found->stages != lens.stages || found->positions != lens.positions || compared.batch >= found->batches ||
        compared.snapshot->vocabulary != context.snapshot.vocabulary)
        other.problem = "That state has a different text, vocabulary or number of layers: its predictions cannot be compared.";
    else other.readings = compared.reading, other.lens = &*found;
    return other;
}

struct Table {
    const LogitLens* compared = nullptr;  ///< cells show the change in the correct token's probability relative to this
    std::int64_t compared_batch = 0;
    float reach = 1;  ///< the change with the strongest colour
    ImVec2 origin;    ///< of the first cell, including scrolling
    float cell = 0, row = 0;
    std::int64_t batch = 0;
    ImVec2 at(std::int64_t t, std::size_t r) const {
        return {std::floor(origin.x + static_cast<float>(t) * cell), std::floor(origin.y + static_cast<float>(r) * row)};
    }
};

/// "#3", "#999", "#1.2k", "#40k": cells are narrow, and the tooltip gives the exact rank.
std::string rank_words(std::int64_t rank) {
    if (rank < 1000) return fmt::format("#{}", rank);
    if (rank < 9950) return fmt::format("#{:.1f}k", static_cast<double>(rank) / 1e3);
    return fmt::format("#{}k", (rank + 500) / 1000);
}

/// Draws as many of the likeliest tokens as fit, the first one larger, and in the corner below the rank of the correct one.
void draw_guesses(const PanelContext& context, const LensCell& cell, ImVec2 min, ImVec2 max, Color fill) {
    const auto& fonts = context.theme.fonts;
    const Color ink = ink_on(fill);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float line = context.px(kGuess), left = min.x + context.px(4), room = max.x - min.x - context.px(7);
    const auto count =
        std::clamp(static_cast<int>((max.y - min.y - context.px(10)) / line), 1, std::clamp(static_cast<int>(cell.count), 1, kMostGuesses));
    const bool alone = count == 1;
    float y = alone ? min.y : (min.y + max.y - line * static_cast<float>(count)) / 2;
    const float end = alone ? max.y : y + line;
    std::string rank = cell.next_rank > 1 ? rank_words(cell.next_rank) : std::string();
    // What is predicted says more than the correct token's rank.
    const float least_token = std::min(text_width(fonts.mono_small, token_text(context, cell.top[0].token)), context.px(kLeastToken));
    if (alone && room - text_width(fonts.mono_tiny, rank) - context.px(6) < least_token) rank.clear();
    const float rank_width = text_width(fonts.mono_tiny, rank), for_rank = rank.empty() ? 0 : rank_width + context.px(6);
    // In the middle of a cell that it just fits into.
    const float rank_end = max.x - std::min(context.px(5), std::max((max.x - min.x - rank_width) / 2, 0.F));
    const auto put = [&](ImFont* font, int guess, float bottom, bool last) {
        const std::int32_t token = cell.top[static_cast<std::size_t>(guess)].token;
        draw_text_in(list, font, {left, y}, {max.x, bottom}, {0, 0.5F}, token_ink(context, token, ink, fill),
                     elide(font, token_text(context, token), last ? room - for_rank : room));
        if (last) draw_text_in(list, fonts.mono_tiny, {min.x, y}, {rank_end, bottom}, {1, 0.5F}, ink, rank);
    };
    put(fonts.mono_small, 0, end, alone);
    for (int i = 1; i < count; ++i) {
        y += line;
        put(fonts.mono_tiny, i, y + line, i + 1 == count);
    }
}

/// Draws the likeliest token and, if different, the other state's below it.
void draw_both_guesses(const PanelContext& context, const LensCell& cell, const LensCell& before, ImVec2 min, ImVec2 max, Color fill) {
    const auto& fonts = context.theme.fonts;
    const float left = min.x + context.px(5), room = max.x - min.x - context.px(10);
    const auto put = [&](ImFont* font, std::int32_t token, float top, float bottom) {
        draw_text_in(*ImGui::GetWindowDrawList(), font, {left, top}, {max.x, bottom}, {0, 0.5F},
                     token_ink(context, token, ink_on(fill), fill), elide(font, token_text(context, token), room));
    };
    if (before.count == 0 || before.top[0].token == cell.top[0].token) return put(fonts.mono_small, cell.top[0].token, min.y, max.y);
    const float middle = min.y + (max.y - min.y) * 0.56F;
    put(fonts.mono_small, cell.top[0].token, min.y, middle);
    put(fonts.mono_tiny, before.top[0].token, middle - context.px(3), max.y);
}

void draw_cell(const PanelContext& context, const LogitLens& lens, const Table& table, std::size_t row, std::int64_t t) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const LensCell& cell = lens.at(row, table.batch, t);
    const ImVec2 min = table.at(t, row), max{table.at(t + 1, row).x - context.px(2), table.at(t, row + 1).y - context.px(2)};
    if (lens.known[row] == 0) {
        list.AddRect(min, max, colors.line, context.px(3));
        return;
    }
    if (cell.count == 0) {
        list.AddRectFilled(min, max, colors.raised, context.px(3));
        draw_text_in(list, fonts.mono_small, min, max, {0.5F, 0.5F}, colors.bad, "NaN");
        return;
    }
    const LensCell* before = table.compared == nullptr ? nullptr : &table.compared->at(row, table.compared_batch, t);
    const Color fill = before == nullptr ? context.canvas.color(kProbability, cell.top[0].probability)
                                         : context.canvas.color({.map = ColorMap::Diverging, .lo = -table.reach, .hi = table.reach},
                                                                cell.next < 0 ? 0 : cell.next_probability - before->next_probability);
    list.AddRectFilled(min, max, fill, context.px(3));
    if (before != nullptr) draw_both_guesses(context, cell, *before, min, max, fill);
    else draw_guesses(context, cell, min, max, fill);
    if (cell.next_rank == 1) list.AddRect({min.x + 1, min.y + 1}, {max.x - 1, max.y - 1}, colors.good, context.px(3), 0, context.px(2));
    const bool chosen = context.view.locked.on(Axis::T) == t && context.view.stage == lens.stages[row];
    if (chosen) list.AddRect({min.x - 1, min.y - 1}, {max.x + 1, max.y + 1}, colors.chosen, context.px(3), 0, context.px(2));
}

void draw_row_labels(const PanelContext& context, const LensReading& readings, const Table& table, ImVec2 min, ImVec2 max) {
    const auto& [colors, fonts, scale] = context.theme;
    const LogitLens& lens = *readings.lens;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.PushClipRect(min, max, true);
    list.AddRectFilled(min, max, colors.pane);
    for (std::size_t row = 0; row < lens.stages.size(); ++row) {
        const float y0 = table.at(0, row).y, y1 = table.at(0, row + 1).y;
        const bool lit = context.view.stage == lens.stages[row];
        draw_text_in(list, fonts.label, {min.x, y0}, {max.x, y1 - context.px(2)}, {0, 0.5F}, lit ? colors.chosen_text : colors.text,
                     lens_row_name(lens, row));
        const double loss = readings.losses[row * static_cast<std::size_t>(lens.batches) + static_cast<std::size_t>(table.batch)];
        if (!std::isnan(loss))
            draw_text_in(list, fonts.mono_tiny, {min.x, y0}, {max.x - context.px(10), y1 - context.px(2)}, {1, 0.5F}, colors.faint,
                         format_number(loss, {.decimals = 2}));
    }
    list.PopClipRect();
}

void draw_column_heads(const PanelContext& context, const LogitLens& lens, const Table& table, ImVec2 min, ImVec2 max) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.PushClipRect(min, max, true);
    list.AddRectFilled(min, max, colors.pane);
    const StageId tokens = lens.stages.front();
    for (std::int64_t t = 0; t < lens.positions; ++t) {
        const float x0 = table.at(t, 0).x, x1 = table.at(t + 1, 0).x - context.px(4);
        if (x1 < min.x || x0 > max.x) continue;
        const bool lit = context.view.selection().on(Axis::T) == t;
        const Color ink = token_ink(context, token_at(context, table.batch, t), colors.text, colors.pane);
        draw_text_in(list, fonts.mono_small, {x0 + context.px(5), min.y}, {x1, min.y + context.px(20)}, {0, 0.5F},
                     lit ? colors.axis(Axis::T) : ink,
                     elide(fonts.mono_small, index_label(context, tokens, Axis::T, t), x1 - x0 - context.px(5)));
        const std::int32_t next = lens.at(lens.stages.size() - 1, table.batch, t).next;
        const std::string token = next < 0 ? "" : token_text(context, next), text = next < 0 ? "" : "→ " + token;
        const float beside = x1 - x0 - context.px(5);
        draw_text_in(list, fonts.mono_tiny, {x0 + context.px(5), min.y + context.px(20)}, {x1, max.y}, {0, 0.5F}, colors.good,
                     elide(fonts.mono_tiny, text_width(fonts.mono_tiny, text) > beside ? token : text, beside));
    }
    list.PopClipRect();
}

void cell_tooltip(const PanelContext& context, const LogitLens& lens, const Table& table, std::size_t row, std::int64_t t) {
    const std::int64_t b = table.batch;
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    const LensCell& cell = lens.at(row, b, t);
    begin_tooltip(ui);
    text_line(
        ui, fonts.strong, colors.text,
        fmt::format("{}, {} “{}”", lens_row_name(lens, row), place_words(context), index_label(context, lens.stages.front(), Axis::T, t)));
    if (cell.count == 0) text_line(ui, fonts.mono, colors.bad, "no prediction: a logit is NaN");
    for (std::size_t i = 0; i < static_cast<std::size_t>(cell.count); ++i)
        text_line(ui, fonts.mono, cell.top[i].token == cell.next ? colors.good : colors.muted,
                  fmt::format("{} {:<12} {}", i + 1, token_text(context, cell.top[i].token),
                              format_number(static_cast<double>(cell.top[i].probability), {.decimals = 4})));
    if (cell.next_rank > cell.count)
        text_line(ui, fonts.mono, colors.good,
                  fmt::format("{} {:<12} {}", cell.next_rank, token_text(context, cell.next),
                              format_number(static_cast<double>(cell.next_probability), {.decimals = 4})));
    if (table.compared != nullptr) {
        const LensCell& before = table.compared->at(row, table.compared_batch, t);
        if (before.count > 0)
            text_line(ui, fonts.mono, colors.muted,
                      fmt::format("A {:<12} {}", token_text(context, before.top[0].token),
                                  format_number(static_cast<double>(before.top[0].probability), {.decimals = 4})));
        if (cell.next >= 0)
            text_line(ui, fonts.mono, colors.text,
                      "correct token: B − A = " + format_number(static_cast<double>(cell.next_probability - before.next_probability),
                                                                {.decimals = 4, .plus = true}));
    }
    text_line(ui, fonts.label, colors.faint, "click: choose · double-click: open this stage step by step");
    end_tooltip();
}

/// The position that was chosen when the table was last scrolled to it.
int* seen_position() { return ImGui::GetStateStorage()->GetIntRef(ImGui::GetID("seen"), -1); }

/// Scrolls to a position that has just been chosen elsewhere, or before the table was shown.
void follow_chosen_position(const PanelContext& context, const Table& table, float room) {
    const auto chosen = static_cast<int>(context.view.locked.on(Axis::T).value_or(-1));
    if (std::exchange(*seen_position(), chosen) == chosen || chosen < 0) return;
    const float begin = static_cast<float>(chosen) * table.cell, end = begin + table.cell, from = ImGui::GetScrollX();
    if (begin < from) ImGui::SetScrollX(begin);
    else if (end > from + room) ImGui::SetScrollX(end - room);
}

/// Handles hovering and clicks on the table.
void point_at(PanelContext& context, const LogitLens& lens, const Table& table) {
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const auto t = static_cast<std::int64_t>(std::floor((mouse.x - table.origin.x) / table.cell));
    const auto row = static_cast<std::int64_t>(std::floor((mouse.y - table.origin.y) / table.row));
    if (t < 0 || row < 0 || t >= lens.positions || row >= static_cast<std::int64_t>(lens.stages.size())) return;
    if (lens.known[static_cast<std::size_t>(row)] == 0) return;
    context.view.hovered.set(Axis::T, t);
    context.view.lens.hovered_row = row;
    cell_tooltip(context, lens, table, static_cast<std::size_t>(row), t);
    if (!ImGui::IsMouseClicked(0)) return;
    context.view.locked.set(Axis::T, t);
    *seen_position() = static_cast<int>(t);  // it stays where it was clicked
    context.view.stage = lens.stages[static_cast<std::size_t>(row)];
    if (ImGui::IsMouseDoubleClicked(0)) context.view.view = View::Step;
}

/// As wide as the widest prediction within limits, so that short symbols stay close together; somewhat narrower if that makes all columns
/// fit into `room`.
float least_cell(const PanelContext& context, const LensReading& readings, float room) {
    const float beside = context.px(14), most = context.px(kNamedCell);
    float cell = context.px(kLeastCell);
    for (const std::int32_t token : readings.first_choices) {
        cell = std::max(cell, text_width(context.theme.fonts.mono_small, token_text(context, token)) + beside);
        if (cell >= most) break;
    }
    cell = std::min(cell, most);
    const float snug = room / static_cast<float>(std::max<std::int64_t>(readings.lens->positions, 1));
    return snug < kSnugShare * cell ? cell : std::min(cell, snug);
}

/// The largest change in the correct token's probability; 1 if nothing changes. Kept, since both tables rarely change.
float largest_change(LensView& view, const LensReading& now, std::int64_t batch, const OtherLens& other) {
    const LensView::Changes of{now.serial, other.readings->serial, batch, other.batch};
    if (view.changes == of && now.serial != 0) return view.largest_change;
    view.changes = of;
    view.largest_change = 0;
    for (std::size_t row = 0; row < now.lens->stages.size(); ++row)
        for (std::int64_t t = 0; t < now.lens->positions && now.lens->known[row] != 0; ++t) {
            const LensCell &cell = now.lens->at(row, batch, t), &before = other.lens->at(row, other.batch, t);
            const float change = std::abs(cell.next_probability - before.next_probability);
            if (cell.next >= 0 && std::isfinite(change)) view.largest_change = std::max(view.largest_change, change);
        }
    if (view.largest_change == 0) view.largest_change = 1;
    return view.largest_change;
}

void draw_table(PanelContext& context, const LensReading& readings, std::int64_t batch, const OtherLens* other, const Box& box) {
    const LogitLens& lens = *readings.lens;
    const float labels = context.px(kLensLabels), heads = context.px(kColumnHead);
    const auto columns = static_cast<float>(std::max<std::int64_t>(lens.positions, 1)), rows = static_cast<float>(lens.stages.size());
    Table table;
    const float least_row = context.px(other == nullptr ? kLeastRow : kComparedRow);
    const bool scrolls_down = heads + rows * least_row > box.height();
    const float room = box.width() - labels - (scrolls_down ? ImGui::GetStyle().ScrollbarSize : 0);
    table.cell = std::clamp(room / columns, least_cell(context, readings, room), context.px(kMaxLensCell));
    const bool scrolls = columns * table.cell > room + 1;
    const float bar = scrolls ? ImGui::GetStyle().ScrollbarSize : 0;
    table.row = std::clamp((box.height() - heads - bar) / rows, least_row, context.px(kMostRow));
    table.batch = std::min(batch, lens.batches - 1);
    if (other != nullptr) {
        table.compared = other->lens, table.compared_batch = other->batch;
        table.reach = largest_change(context.view.lens, readings, table.batch, *other);
    }
    ImGui::SetCursorScreenPos(box.min);
    const Scrolled scrolled(context.ui(), "##lens", {box.width(), box.height()},
                            {.flags = ImGuiWindowFlags_HorizontalScrollbar, .fades = false});
    follow_chosen_position(context, table, room);
    const ImVec2 window = ImGui::GetWindowPos(), at = ImGui::GetCursorScreenPos();
    const ImVec2 low = ImGui::GetWindowDrawList()->GetClipRectMin(), high = ImGui::GetWindowDrawList()->GetClipRectMax();
    table.origin = {at.x + labels, at.y + heads};
    pointing_area("##cells", {labels + columns * table.cell, heads + rows * table.row});
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const bool inside = ImGui::IsItemHovered() && mouse.x > window.x + labels && mouse.y > window.y + heads;
    const auto first = static_cast<std::int64_t>(std::max((low.x - table.origin.x) / table.cell, 0.F));
    ImGui::PushClipRect({std::floor(window.x + labels), std::floor(window.y + heads)}, high, true);
    for (std::size_t row = 0; row < lens.stages.size(); ++row) {
        if (table.at(0, row + 1).y < low.y || table.at(0, row).y > high.y) continue;
        for (std::int64_t t = first; t < lens.positions && table.at(t, row).x < high.x; ++t) draw_cell(context, lens, table, row, t);
    }
    ImGui::PopClipRect();
    draw_row_labels(context, readings, table, {window.x, window.y + heads}, {window.x + labels, high.y});
    draw_column_heads(context, lens, table, {window.x + labels, window.y}, {high.x, window.y + heads});
    ImGui::GetWindowDrawList()->AddRectFilled(window, {window.x + labels, window.y + heads}, context.theme.colors.pane);
    draw_text(*ImGui::GetWindowDrawList(), context.theme.fonts.mono_tiny,
              {window.x + labels - context.px(10) - text_width(context.theme.fonts.mono_tiny, "loss"), window.y + context.px(26)},
              context.theme.colors.faint, "loss");
    if (inside) point_at(context, lens, table);
}

void draw_chance(const PanelContext& context, std::string_view label, float value, Color ink, Color fill) {
    const float width = ImGui::GetContentRegionAvail().x;
    draw_figure(context, ImGui::GetCursorScreenPos(), width,
                {label, ink, static_cast<double>(value), fill, format_number(static_cast<double>(value), {.decimals = 4})},
                {.label = 104, .number = 56});
    ImGui::Dummy({width, context.px(21) - ImGui::GetStyle().ItemSpacing.y});
}

/// What the colours and signs of the table mean.
std::string legend_of(const PanelContext& context, const LensSoFar& so_far, const OtherLens& other, bool in_place) {
    const bool both_ways = reads_both_ways(context);
    const Comparison& compare = context.view.compare;
    const LogitLens* lens = so_far.lens;
    std::string legend =
        both_ways
            ? "The likeliest tokens; colour: the first one's probability. Framed: it is the token at that place; #3: that one is third. A "
              "hidden token is not known. loss: mean of −ln p of those that are not hidden."
            : "The likeliest tokens; colour: the first one's probability. Framed: it is the token that follows; #3: that one is third. "
              "loss: "
              "mean of −ln p of the tokens that follow.";
    if (!both_ways && !context.snapshot.asked.empty()) legend += " Only what the task asks for is counted: the rest cannot be predicted.";
    if (!other.problem.empty()) legend = other.problem + (compare.swapped ? " The table shows B." : "");
    else if (other.lens != nullptr && !in_place && other.one_state) legend = words_of_one_state(context);
    else if (other.lens != nullptr && !in_place)
        legend = fmt::format(
            "Colour: how much more (orange) or less (blue) likely the correct token is than in A: {}; the strongest colour stands for "
            "{}. Small: A's own first choice where it differs. Hold X for A itself.",
            other.name,
            format_number(static_cast<double>(
                              largest_change(context.view.lens, *so_far.readings, std::min(context.view.batch, lens->batches - 1), other)),
                          {.decimals = 4}));
    else if (other.lens != nullptr)
        legend = fmt::format("{}: {}. Hold X to swap A and B.", compare.swapped ? "A" : "B", compare.swapped ? other.name : "shown");
    return legend;
}

}  // namespace

void draw_lens_view(PanelContext& context) {
    if (!context.ready()) return;
    context.view.lens.hovered_row.reset();
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    const bool both_ways = reads_both_ways(context);
    const char* title = both_ways ? "Expected here" : "Expected next";
    const LensSoFar so_far = lens_of(context);
    const LogitLens* lens = so_far.lens;
    float heading_end = at.x + room.x;
    if (lens != nullptr && !so_far.whole()) {
        constexpr float kBar = 120, kWords = 130;
        const float right = at.x + room.x;
        ImGui::SetCursorScreenPos({right - context.px(kBar), at.y + context.px(12)});
        progress_bar(context.ui(), static_cast<float>(so_far.known) / static_cast<float>(lens->stages.size()), kBar);
        draw_text_in(list, fonts.label, at, {right - context.px(kBar + 10), at.y + context.px(32)}, {1, 0.5F}, colors.text,
                     fmt::format("{} of {} rows", so_far.known, lens->stages.size()));
        heading_end -= context.px(kBar + kWords);
    }
    draw_view_heading(context, at, heading_end, title,
                      fmt::format("logit lens: what each layer would {}{} · read through the final norm and the output head",
                                  both_ways ? "put at each place" : "predict next", readings_age(context)));
    ImGui::SetCursorScreenPos({at.x, at.y + context.px(kLensHeader)});
    if (lens == nullptr) {
        paragraph(context.ui(), fonts.body, so_far.problem.empty() ? colors.muted : colors.bad,
                  !so_far.problem.empty()              ? so_far.problem
                  : context.structure().config.lm_head ? "The layers' predictions are being computed."
                                                       : without_output_head(context.document.model != nullptr));
        return;
    }
    const OtherLens other = other_lens(context, *lens);
    const Comparison& compare = context.view.compare;
    const bool in_place = compare.swapped || compare.layout == CompareLayout::InPlace;
    const std::string legend = legend_of(context, so_far, other, in_place);
    const float foot = wrapped_height(fonts.label, room.x, legend);
    const Box box{{at.x, at.y + context.px(kLensHeader)}, {at.x + room.x, at.y + room.y - foot - context.px(8)}};
    if (other.lens != nullptr && compare.swapped)  // with the tokens of that state
        draw_side_in_place(context, [&](PanelContext& side) { draw_table(side, *other.readings, other.batch, nullptr, box); });
    else draw_table(context, *so_far.readings, context.view.batch, other.lens != nullptr && !in_place ? &other : nullptr, box);
    draw_text_wrapped(list, fonts.label, {at.x, at.y + room.y - foot}, room.x, colors.faint, legend);
}

void draw_lens_cell(PanelContext& context) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    section_heading(ui, fmt::format("Prediction{}", words_of_side(context)));
    const LogitLens* lens = context.ready() ? lens_of(context).lens : nullptr;
    if (lens == nullptr) return;
    const auto t = context.view.selection().on(Axis::T);
    if (!t || *t >= lens->positions) {
        paragraph(ui, fonts.body, colors.muted, "Point at a cell to see the five likeliest tokens. Click to select it, Esc to deselect.");
        return;
    }
    const std::int64_t b = std::min(context.view.batch, lens->batches - 1);
    const auto found = std::find(lens->stages.begin(), lens->stages.end(), context.view.stage);
    std::size_t row = found == lens->stages.end() ? lens->stages.size() - 1 : static_cast<std::size_t>(found - lens->stages.begin());
    if (context.view.lens.hovered_row) row = static_cast<std::size_t>(*context.view.lens.hovered_row);
    if (lens->known[row] == 0) row = lens->stages.size() - 1;  // the last stage is computed first
    const LensCell& cell = lens->at(row, b, *t);
    text_line(ui, fonts.mono_body, colors.axis(Axis::T),
              fmt::format("{} {}", place_words(context), index_label(context, lens->stages.front(), Axis::T, *t)));
    text_line(ui, fonts.label, colors.muted, lens_row_name(*lens, row) + " · " + tensor_name(lens->stages[row]));
    gap(ui, 6);
    if (cell.count == 0) text_line(ui, fonts.label, colors.bad, "no prediction: a logit is NaN");
    for (std::size_t i = 0; i < static_cast<std::size_t>(cell.count); ++i) {
        const bool right = cell.top[i].token == cell.next;
        const Color ink = right ? colors.good : token_ink(context, cell.top[i].token, colors.muted, colors.pane);
        draw_chance(context, token_text(context, cell.top[i].token), cell.top[i].probability, ink, right ? colors.good : colors.accent);
    }
    if (cell.next < 0) {
        gap(ui, 8);
        paragraph(ui, fonts.label, colors.faint,
                  reads_both_ways(context) ? "The word is hidden: the correct token is unknown." : "The text ends here: no token follows.");
        return;
    }
    gap(ui, 14);
    section_heading(ui, "The correct token, layer by layer");
    text_line(ui, fonts.mono_body, colors.good, token_text(context, cell.next));
    gap(ui, 4);
    for (std::size_t r = 0; r < lens->stages.size(); ++r) {
        if (lens->known[r] == 0) continue;
        draw_chance(context, lens_row_name(*lens, r), lens->at(r, b, *t).next_probability, r == row ? colors.chosen_text : colors.muted,
                    r == row ? colors.chosen : colors.accent);
    }
}

}  // namespace attn::app
