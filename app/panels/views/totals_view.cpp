#include "app/panels/views/totals_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/panels/compare/comparison.hpp"
#include "app/panels/compare/matrix_view.hpp"
#include "app/panels/compare/shown_maps.hpp"
#include "app/panels/kit/figure.hpp"
#include "app/panels/kit/labels.hpp"
#include "app/panels/kit/readings_age.hpp"
#include "app/panels/kit/stage_words.hpp"
#include "app/panels/maps/equation_layout.hpp"
#include "app/session/values/readings.hpp"
#include "app/session/values/rollout_terms.hpp"
#include "app/session/values/totals_slice.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kHeader = 44;

/// The readings shown.
struct Shown {
    TotalsOf of{};
    StageId weights{};  ///< of the last layer included
    bool empty() const { return of.totals == nullptr; }
};

Shown shown_of(const PanelContext& context, const TotalsReading* reading, const Subject& subject, std::int64_t batch) {
    Shown shown;
    shown.of.of = subject;
    if (reading == nullptr || subject.empty()) return shown;
    shown.of.totals = reading->of(context.view.stage.stack);
    if (shown.of.totals == nullptr && !reading->totals.empty()) shown.of.totals = &reading->totals.front();
    if (shown.empty()) return shown;
    const AttentionTotals& totals = *shown.of.totals;
    const std::size_t last = totals.layers() - 1;
    shown.of.serial = reading->serial;
    shown.of.layer = std::min(static_cast<std::size_t>(context.view.totals.up_to.value_or(static_cast<std::int64_t>(last))), last);
    shown.of.sequence = shown.of.in_blocks() ? 0 : std::min(batch, totals.rollouts[0].sequences() - 1);
    shown.of.rollout = context.view.totals.rollout;
    shown.weights = {Stage::Weights, static_cast<int>(shown.of.layer), totals.stack};
    return shown;
}

Shown shown_totals(const PanelContext& context) {
    return shown_of(context, context.ask_latest(facet::Totals{}).value.get(), context.shown(), context.view.batch);
}

std::string layers_words(const Shown& shown) { return shown.of.layer == 0 ? "layer 0" : fmt::format("layers 0 to {}", shown.of.layer); }

struct TotalsWords {
    std::string formula, sentence;
};

TotalsWords words_of(const PanelContext& context, const Shown& shown) {
    if (!context.view.totals.rollout)
        return {shown.of.layer == 0
                    ? fmt::format("A0, the mean of {} heads", context.structure().config.num_heads)
                    : fmt::format("mean of A0 … A{}, each the mean of {} heads", shown.of.layer, context.structure().config.num_heads),
                "How much each query attends to each key on average, without following it through the layers."};
    return {
        "Rₗ = Ãₗ · Rₗ₋₁,   Ã = rows of ½ A + ½ I, divided by their sums",
        "Attention rollout (Abnar and Zuidema 2020): how much of each source token reaches each position through all layers, if half of a "
        "token is its own residual stream and the other half is mixed by the mean of the heads. It ignores values, W_O and the "
        "feed-forward."};
}

/// A line of arithmetic: a label, the value at the right, and what it is made of in a column before it.
void draw_row(const PanelContext& context, std::string_view label, std::string_view value, Color ink, std::string_view made_of = {}) {
    const auto& [colors, fonts, scale] = context.theme;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x, line = context.px(21), bottom = at.y + context.px(14), gap = context.px(8);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_text_in(list, fonts.mono_small, at, {at.x + width, bottom}, {1, 0}, ink, value);
    float room = width - text_width(fonts.mono_small, value) - gap;
    if (!made_of.empty()) {
        const float end = width - text_width(fonts.mono_small, "-1.00e-00") - gap;  // the widest value
        draw_text_in(list, fonts.mono_small, at, {at.x + end, bottom}, {1, 0}, colors.muted, made_of);
        room = end - text_width(fonts.mono_small, made_of) - gap;
    }
    draw_text(list, fonts.mono_small, at, colors.muted, elide(fonts.mono_small, label, room));
    ImGui::Dummy({width, line - ImGui::GetStyle().ItemSpacing.y});
}

std::string number(double value) { return format_number(value, {.decimals = 4}); }

void draw_mean_arithmetic(const PanelContext& context, const Shown& shown, std::int64_t t, std::int64_t s) {
    double sum = 0;
    for (std::size_t layer = 0; layer <= shown.of.layer; ++layer) {
        const float a = shown.of.totals->head_means[layer](shown.of.sequence, t, s);
        sum += static_cast<double>(a);
        draw_row(context, fmt::format("A{}: mean of {} heads", layer, context.structure().config.num_heads), number(static_cast<double>(a)),
                 context.theme.colors.text);
    }
    separator(context.ui());
    draw_row(context, fmt::format("sum ÷ {}", shown.of.layer + 1), number(sum / static_cast<double>(shown.of.layer + 1)),
             context.theme.colors.text);
}

/// Draws the largest terms of R[t,s] = Σ over j of Ã[t,j] R[j,s]. Until they are ready, the last ones stay on screen; never those of
/// another moment than the picture.
void draw_rollout_arithmetic(PanelContext& context, const Shown& shown, std::int64_t t, std::int64_t s) {
    const Palette& colors = context.theme.colors;
    const auto answer = context.inquiry.ask_latest(shown.of.of.state, facet::RolloutTerms{shown.of.place(), t, s});
    std::shared_ptr<const RolloutTerms>& last = context.view.totals.last_terms;
    if (answer) last = answer.value;
    if (last == nullptr || last->readings != shown.of.serial || !answer.problem.empty())
        return paragraph(context.ui(), context.theme.fonts.label, colors.faint,
                         answer.problem.empty() ? "The terms are being computed." : answer.problem);
    const RolloutTerms& terms = *last;
    for (const RolloutTerms::Term& term : terms.largest)
        draw_row(context, fmt::format("{} {}", term.through, index_label(context, shown.weights, Axis::S, term.through)),
                 number(term.product), term.through == t ? colors.axis(Axis::T) : colors.text,
                 fmt::format("{} × {}", number(term.share), number(term.before)));
    if (terms.count > terms.largest.size())
        paragraph(context.ui(), context.theme.fonts.label, colors.faint,
                  fmt::format("The {} largest of {} terms; the sum includes all.", terms.largest.size(), terms.count));
    separator(context.ui());
    draw_row(context, "sum", number(terms.sum), colors.text);
}

/// The upper bound for a cell of a map held in blocks; "" for any other map.
std::string most_of_block(const Matrix& matrix, std::int64_t row, std::int64_t col) {
    if (!matrix.in_blocks() || matrix.masked(row, col)) return "";
    return "≤ " + number(static_cast<double>(matrix.at(row, col)));
}

/// The matrices to show, and the comparison.
struct TotalsPicture {
    Equation equation;
    std::string words;  ///< what A and B are; "" without a comparison
    Reason problem;     ///< why the comparison is not shown
};

TotalsPicture totals_picture(PanelContext& context, const Shown& shown) {
    TotalsPicture picture;
    Found now_shown = context.numbers().totals(shown.of);
    picture.equation.result = std::move(now_shown.map);
    picture.problem = {now_shown.problem()};
    picture.equation.result.symbol.clear();
    if (!picture.problem.empty()) return picture;
    const Comparison& compare = context.view.compare;
    if (!compare.on()) return picture;
    const ComparedReading<facet::Totals> other = compared_totals(context);
    const Subject there{other.snapshot == nullptr ? nullptr : other.snapshot->state, other.snapshot};
    Shown now = shown, before = shown_of(context, other.reading, there, other.batch);
    if (before.empty()) {
        picture.problem = other.missing.empty() ? Reason{"That state has no attention of this kind."} : other.missing;
        return picture;
    }
    Matrix a = context.numbers().totals(before.of).map, b = picture.equation.result;
    std::string first = "A", second = "B";
    std::string name_a = other.name, name_b = "shown";
    if (compare.swapped) {
        std::swap(a, b);
        std::swap(before, now);
        std::swap(first, second);
        std::swap(name_a, name_b);
    }
    picture.words = fmt::format("{}: {}. {}: {}. Hold X to swap A and B.", first, name_a, second, name_b);
    if (compare.layout == CompareLayout::InPlace) {
        b.symbol.clear();
        picture.equation.result = std::move(b);
        return picture;
    }
    if (other.one_state) picture.words += " " + words_of_one_state(context);
    const std::string_view no_difference = a.data.rows != b.data.rows       ? " The texts have different lengths"
                                           : a.in_blocks() || b.in_blocks() ? " Totals of texts this long cannot be subtracted"
                                                                            : "";
    const bool side_by_side = compare.layout == CompareLayout::SideBySide || !no_difference.empty();
    if (compare.layout != CompareLayout::SideBySide && side_by_side)
        picture.words += fmt::format("{}, so they are shown side by side.", no_difference);
    a.symbol = fmt::format("{}  {}", first, name_a);
    b.symbol = fmt::format("{}  {}", second, name_b);
    a.name += " before";  // its zoom is its own
    a.is_side_a = true;
    picture.equation.layout = side_by_side                                  ? Layout::Sum
                              : compare.layout == CompareLayout::Difference ? Layout::Single
                                                                            : Layout::Difference;
    if (side_by_side) {
        picture.equation.operands = {std::move(a)};
        picture.equation.result = std::move(b);
        picture.equation.rows_differ = other.batch != shown.of.sequence || other.snapshot != &context.snapshot;
        return picture;
    }
    Found found = context.numbers().totals_difference(now.of, b, before.of, a);
    picture.problem = {found.problem()};
    if (!picture.problem.empty()) return picture;
    Matrix difference = std::move(found.map);
    difference.symbol = fmt::format("{} − {}", second, first);
    if (compare.layout == CompareLayout::All) picture.equation.operands = {std::move(b), std::move(a)};
    picture.equation.result = std::move(difference);
    return picture;
}

/// Draws one of the matrices and handles hovering and clicks.
void draw_part(PanelContext& context, const Matrix& matrix, const Box& box, const StageId& stage, bool row_labels, bool col_labels,
               float column_room, bool comparing) {
    if (matrix.empty()) return draw_awaited(context, box.min, box.max);
    const MatrixViewResult result = draw_matrix(context, matrix, box,
                                                {.role = MatrixRole::Result,
                                                 .row_labels = row_labels,
                                                 .col_labels = col_labels,
                                                 .column_room = column_room,
                                                 .stage = stage,
                                                 .axis_titles = col_labels,
                                                 .comparing = comparing});
    const auto take = [](AxisSelection& selection, const HeatmapCell& cell) {
        selection.set(Axis::T, cell.row);
        selection.set(Axis::S, cell.col);
    };
    if (result.hovered) {
        take(context.view.hovered, *result.hovered);
        const LabelOf row = axis_label(context, stage, Axis::T, matrix.labelled_by),
                      col = axis_label(context, stage, Axis::S, matrix.labelled_by);
        heatmap_tooltip(context.ui(), matrix.data, *result.hovered, {.label = row, .axis = Axis::T}, {.label = col, .axis = Axis::S},
                        most_of_block(matrix, result.hovered->row, result.hovered->col));
    }
    if (result.clicked) take(context.view.locked, *result.clicked);
}

/// Why there is no picture, or how far its computation is.
void draw_missing_totals(PanelContext& context) {
    const auto& [colors, fonts, scale] = context.theme;
    const auto readings = context.ask_latest(facet::Totals{});
    paragraph(context.ui(), fonts.body, colors.muted,
              readings                   ? "This model has no attention."
              : readings.problem.empty() ? "Attention over all layers is being computed."
                                         : readings.problem);
    if (readings.computing() && readings.total > 0) {
        gap(context.ui(), 6);
        progress_bar(context.ui(), static_cast<float>(readings.done) / static_cast<float>(readings.total), 160);
    }
}

}  // namespace

ShownNumbers totals_numbers(PanelContext& context) {
    const Shown shown = context.ready() ? shown_totals(context) : Shown();
    if (shown.empty()) return {};
    TotalsPicture picture = totals_picture(context, shown);
    const Comparison& compare = context.view.compare;
    const bool swapped = compare.swapped && !picture.words.empty() && picture.problem.empty();
    ShownNumbers numbers{std::move(picture.equation.result)};
    numbers.title = context.view.totals.rollout ? "rollout" : "mean";
    if (numbers.matrix.is_difference) numbers.title += swapped ? ", A − B" : ", B − A";
    else if (compare.on()) numbers.title += swapped ? " of A" : " of B";
    numbers.matrix.symbol = numbers.title;
    return numbers;
}

void draw_totals_view(PanelContext& context) {
    if (!context.ready()) return;
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    const Shown shown = shown_totals(context);
    if (shown.empty()) return draw_missing_totals(context);
    TotalsView& view = context.view.totals;
    StageId& stage = context.view.stage;
    if (stage.stage != Stage::Weights || stage.stack != shown.weights.stack)
        stage = {Stage::Weights, std::clamp(stage.layer, 0, static_cast<int>(shown.of.totals->layers()) - 1), shown.weights.stack};
    static constexpr std::array<std::string_view, 2> kNames = {"rollout", "mean"};
    const float pills = segmented_width(context.ui(), kNames);
    ImGui::SetCursorScreenPos({at.x + room.x - pills, at.y + context.px(1)});
    int chosen = view.rollout ? 0 : 1;
    if (segmented(context.ui(), "##totals", kNames, chosen, pills + 1,
                  {.tooltip = "What reaches a position through all layers, or the plain mean of all maps."}))
        view.rollout = chosen == 0;
    const std::string title = view.rollout ? "Attention rollout" : "Mean attention";
    const std::string stack = shown.of.totals->stack == Stack::Encoder   ? "encoder, "
                              : shown.of.totals->stack == Stack::Decoder ? "decoder, "
                                                                         : "";
    draw_view_heading(context, at, at.x + room.x - pills - context.px(14), title,
                      fmt::format("{}{}{} · {} · rows are queries, columns are keys", stack, layers_words(shown), readings_age(context),
                                  all_heads(context.structure().config.num_heads)));
    const TotalsWords words = words_of(context, shown);
    const float y = at.y + context.px(kHeader);
    draw_text(list, fonts.mono_body, {at.x, y}, colors.text, elide(fonts.mono_body, words.formula, room.x));
    const TotalsPicture picture = totals_picture(context, shown);
    const bool low = room.y < context.px(470) && picture.problem.empty();
    const std::string& sentence = !picture.problem.empty() ? picture.problem.words : picture.words.empty() ? words.sentence : picture.words;
    const float text_height =
        low ? context.px(20)
            : context.px(24) + draw_text_wrapped(list, fonts.label, {at.x, y + context.px(24)}, room.x,
                                                 picture.problem.empty() ? colors.muted : problem_color(context, picture.problem),
                                                 sentence);
    const Equation& equation = picture.equation;
    const EquationLayout layout = lay_out_equation(equation, {{at.x, y}, {at.x + room.x, at.y + room.y}}, scale, text_height, true);
    const bool comparing = !picture.words.empty() && context.view.compare.layout != CompareLayout::InPlace;
    const bool beside = equation.layout == Layout::Difference;  // the operands are small and have no labels
    for (std::size_t i = 0; i < equation.operands.size(); ++i)
        if (layout.operands[i].width() > 2)
            draw_part(context, equation.operands[i], layout.operands[i], shown.weights, !beside && i == 0, !beside, layout.column_labels,
                      comparing);
    draw_part(context, equation.result, layout.result, shown.weights, beside || equation.operands.empty() || equation.rows_differ, true,
              layout.column_labels, comparing);
    draw_color_scale(context, equation.result, layout.bar, false);
}

void draw_totals_cell(PanelContext& context) {
    section_heading(context.ui(),
                    fmt::format("This cell of the {}{}", context.view.totals.rollout ? "rollout" : "mean", words_of_side(context)));
    const auto& [colors, fonts, scale] = context.theme;
    const Shown shown = context.ready() ? shown_totals(context) : Shown();
    if (shown.empty()) return;
    const Matrix matrix = context.numbers().totals(shown.of).map;
    const AxisSelection& selection = context.view.selection();
    const auto t = selection.on(Axis::T), s = selection.on(Axis::S);
    if (!t || !s || matrix.empty() || *t >= matrix.data.rows || *s >= matrix.data.cols) {
        paragraph(context.ui(), fonts.body, colors.muted,
                  "Point at a cell to see where its number comes from. Click to select it, Esc to deselect.");
        return;
    }
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    const bool masked = matrix.masked(*t, *s);
    const std::string value = masked               ? kMasked
                              : matrix.in_blocks() ? most_of_block(matrix, *t, *s)
                                                   : number(static_cast<double>(matrix.at(*t, *s)));
    const float half = (width - text_width(fonts.mono_body, value) - context.px(40)) / 2;
    const std::string query = elide(fonts.mono_body, index_label(context, shown.weights, Axis::T, *t), half);
    const std::string key = elide(fonts.mono_body, index_label(context, shown.weights, Axis::S, *s), half);
    draw_text(list, fonts.mono_body, at, colors.axis(Axis::T), query);
    float x = at.x + text_width(fonts.mono_body, query);
    draw_text(list, fonts.mono_body, {x, at.y}, colors.faint, " → ");
    x += text_width(fonts.mono_body, " → ");
    draw_text(list, fonts.mono_body, {x, at.y}, colors.axis(Axis::S), key);
    draw_text_in(list, fonts.mono_body, at, {at.x + width, at.y + context.px(18)}, {1, 0}, colors.text, value);
    ImGui::Dummy({width, context.px(26)});
    if (context.view.compare.on()) draw_difference_row(context, totals_picture(context, shown).equation.result, *t, *s);
    paragraph(context.ui(), fonts.mono_small, colors.text,
              context.view.totals.rollout ? fmt::format("R{0}[{1},{2}] = Σ over j of Ã{0}[{1},j] · R{3}[j,{2}]", shown.of.layer, *t, *s,
                                                        shown.of.layer == 0 ? "₋₁" : std::to_string(shown.of.layer - 1))
                                          : fmt::format("mean over {} of A[{},{}]", layers_words(shown), *t, *s));
    gap(context.ui(), 8);
    if (masked) paragraph(context.ui(), fonts.label, colors.faint, "No layer lets this query attend to this key.");
    else if (matrix.in_blocks())
        paragraph(
            context.ui(), fonts.label, colors.faint,
            fmt::format("For a text this long, each number is the largest of {0} × {0} cells.", std::int64_t{1} << matrix.data.level));
    else if (context.view.totals.rollout) draw_rollout_arithmetic(context, shown, *t, *s);
    else draw_mean_arithmetic(context, shown, *t, *s);
}

}  // namespace attn::app
