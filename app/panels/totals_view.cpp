#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/panels/labels.hpp"
#include "app/panels/matrix_view.hpp"
#include "app/panels/panels.hpp"
#include "app/panels/readings_age.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"
#include "engine/trace/attention_totals.hpp"

namespace attn::app {
namespace {

constexpr float kHeader = 44;

/// What of the readings the view shows.
struct Shown {
    const AttentionTotals* totals = nullptr;
    std::size_t layer = 0;  ///< the last one that counts
    StageId weights;        ///< of that layer
    std::int64_t batch = 0;
};

Shown shown_totals(const PanelContext& context) {
    Shown shown;
    if (context.snapshot.readings == nullptr) return shown;
    shown.totals = context.snapshot.readings->of(context.view.stage.stack);
    if (shown.totals == nullptr && !context.snapshot.readings->totals.empty()) shown.totals = &context.snapshot.readings->totals.front();
    if (shown.totals == nullptr) return shown;
    const std::size_t last = shown.totals->rollouts.size() - 1;
    shown.layer = std::min(static_cast<std::size_t>(context.view.totals.up_to.value_or(static_cast<std::int64_t>(last))), last);
    shown.weights = {Stage::Weights, static_cast<int>(shown.layer), shown.totals->stack};
    shown.batch = std::min(context.view.batch, shown.totals->rollouts[0].shape()[0].size - 1);
    return shown;
}

Matrix shown_matrix(const PanelContext& context, const Shown& shown) {
    const bool rollout = context.view.totals.rollout;
    const RecordedStage<float>* weights = context.trace().find(shown.weights);
    // A rollout's own position counts even where attention to it is masked.
    const Mask* mask = rollout || weights == nullptr ? nullptr : weights->mask.get();
    return context.matrices.tokens_to_tokens((rollout ? shown.totals->rollouts : shown.totals->means)[shown.layer], shown.batch,
                                             rollout ? "rollout" : "mean", mask);
}

std::string layers_words(const Shown& shown) { return shown.layer == 0 ? "layer 0" : fmt::format("layers 0 to {}", shown.layer); }

struct Words {
    std::string formula, sentence;
};

Words words_of(const PanelContext& context, const Shown& shown) {
    if (!context.view.totals.rollout)
        return {shown.layer == 0
                    ? fmt::format("A0, the mean of {} heads", context.trace().config.num_heads)
                    : fmt::format("mean of A0 … A{}, each the mean of {} heads", shown.layer, context.trace().config.num_heads),
                "How much each query looks at each key on average. It does not follow what was looked at on the way."};
    return {
        "Rₗ = Ãₗ · Rₗ₋₁,   Ã = rows of ½ A + ½ I, divided by their sums",
        "Attention rollout (Abnar and Zuidema 2020): how much of each source token reaches each position through all layers, if half of a "
        "token is its own residual stream and the other half is mixed by the mean of the heads. It ignores values, W_O and the "
        "feed-forward."};
}

void draw_row(const PanelContext& context, std::string_view label, std::string_view value, Color ink) {
    const auto& [colors, fonts, scale] = context.theme;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x, line = context.px(21);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_text(list, fonts.mono_small, at, colors.muted,
              elide(fonts.mono_small, label, width - text_width(fonts.mono_small, value) - context.px(8)));
    draw_text_in(list, fonts.mono_small, at, {at.x + width, at.y + context.px(14)}, {1, 0}, ink, value);
    ImGui::Dummy({width, line - ImGui::GetStyle().ItemSpacing.y});
}

std::string number(double value) { return format_number(value, {.decimals = 4}); }

void draw_mean_arithmetic(const PanelContext& context, const Shown& shown, std::int64_t t, std::int64_t s) {
    double sum = 0;
    for (std::size_t layer = 0; layer <= shown.layer; ++layer) {
        const float a = shown.totals->head_means[layer](shown.batch, t, s);
        sum += static_cast<double>(a);
        draw_row(context, fmt::format("A{}: mean of {} heads", layer, context.trace().config.num_heads), number(static_cast<double>(a)),
                 context.theme.colors.text);
    }
    separator(context.ui());
    draw_row(context, fmt::format("sum ÷ {}", shown.layer + 1), number(sum / static_cast<double>(shown.layer + 1)),
             context.theme.colors.text);
}

/// R[t,s] = Σ over j of Ã[t,j] R[j,s], its largest terms.
void draw_rollout_arithmetic(const PanelContext& context, const Shown& shown, std::int64_t t, std::int64_t s) {
    constexpr std::size_t kMost = 12;
    const Palette& colors = context.theme.colors;
    const Tensor<float>& a = shown.totals->head_means[shown.layer];
    const std::int64_t positions = a.shape()[1].size;
    const std::vector<double> mixed = with_residual(a.data() + (shown.batch * positions + t) * positions, positions, t);
    struct Term {
        std::int64_t through;
        double share, before, product;
    };
    std::vector<Term> terms;
    double sum = 0;
    for (std::int64_t j = 0; j < positions; ++j) {
        const double share = mixed[static_cast<std::size_t>(j)];
        const double before =
            shown.layer == 0 ? (j == s ? 1.0 : 0.0) : static_cast<double>(shown.totals->rollouts[shown.layer - 1](shown.batch, j, s));
        const double product = share == 0 ? 0 : share * before;
        sum += product;
        if (product != 0) terms.push_back({j, share, before, product});
    }
    const std::size_t all = terms.size();
    std::stable_sort(terms.begin(), terms.end(), [](const Term& x, const Term& y) { return x.product > y.product; });
    terms.resize(std::min(terms.size(), kMost));
    for (const Term& term : terms)
        draw_row(context,
                 fmt::format("{} {}  {} × {}", term.through, index_label(context, shown.weights, Axis::S, term.through), number(term.share),
                             number(term.before)),
                 number(term.product), term.through == t ? colors.axis(Axis::T) : colors.text);
    if (all > terms.size())
        paragraph(context.ui(), context.theme.fonts.label, colors.faint,
                  fmt::format("The {} largest of {} terms; the sum has all of them.", terms.size(), all));
    separator(context.ui());
    draw_row(context, "sum", number(sum), colors.text);
}

}  // namespace

void draw_totals_view(PanelContext& context) {
    if (!context.ready()) return;
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    const Shown shown = shown_totals(context);
    if (shown.totals == nullptr) {
        paragraph(context.ui(), fonts.body, colors.muted,
                  context.snapshot.readings == nullptr ? "Attention over all layers is being computed." : "This model has no attention.");
        return;
    }
    TotalsView& view = context.view.totals;
    context.view.stage = shown.weights;
    static constexpr std::array<std::string_view, 2> kNames = {"rollout", "mean"};
    const float pills = segmented_width(context.ui(), kNames);
    ImGui::SetCursorScreenPos({at.x + room.x - pills, at.y + context.px(1)});
    int chosen = view.rollout ? 0 : 1;
    if (segmented(context.ui(), "##totals", kNames, chosen, pills + 1,
                  {.tooltip = "What reaches a position through all layers, or the plain mean of all maps."}))
        view.rollout = chosen == 0;
    const std::string title = view.rollout ? "attention rollout" : "mean attention";
    draw_text(list, fonts.heading, at, colors.text, title);
    const float x = at.x + text_width(fonts.heading, title) + context.px(12);
    const std::string stack = shown.totals->stack == Stack::Encoder   ? "encoder, "
                              : shown.totals->stack == Stack::Decoder ? "decoder, "
                                                                      : "";
    draw_text(list, fonts.label, {x, at.y + context.px(9)}, colors.muted,
              elide(fonts.label,
                    fmt::format("{}{} · all {} heads · rows are queries, columns are keys{}", stack, layers_words(shown),
                                context.trace().config.num_heads, readings_age(context)),
                    at.x + room.x - pills - context.px(14) - x));
    const Words words = words_of(context, shown);
    const float y = at.y + context.px(kHeader);
    draw_text(list, fonts.mono_body, {at.x, y}, colors.text, elide(fonts.mono_body, words.formula, room.x));
    const float text_height =
        context.px(24) + draw_text_wrapped(list, fonts.label, {at.x, y + context.px(24)}, room.x, colors.muted, words.sentence);

    Equation equation;
    equation.result = shown_matrix(context, shown);
    equation.result.symbol.clear();
    const EquationLayout layout = lay_out_equation(equation, {{at.x, y}, {at.x + room.x, at.y + room.y}}, scale, text_height, true);
    const MatrixViewResult result =
        draw_matrix(context, equation.result, layout.result,
                    {.role = MatrixRole::Result, .row_labels = true, .col_labels = true, .stage = shown.weights});
    const auto take = [](AxisSelection& selection, const HeatmapCell& cell) {
        selection.set(Axis::T, cell.row);
        selection.set(Axis::S, cell.col);
    };
    if (result.hovered) {
        take(context.view.hovered, *result.hovered);
        const std::vector<std::string> rows = axis_labels(context, shown.weights, Axis::T, equation.result.data.rows),
                                       cols = axis_labels(context, shown.weights, Axis::S, equation.result.data.cols);
        heatmap_tooltip(context.ui(), equation.result.data, *result.hovered, {.labels = rows, .axis = Axis::T},
                        {.labels = cols, .axis = Axis::S});
    }
    if (result.clicked) take(context.view.locked, *result.clicked);
    draw_color_scale(context, equation.result, layout.bar, false);
}

void draw_totals_cell(PanelContext& context) {
    section_heading(context.ui(), context.view.totals.rollout ? "This cell of the rollout" : "This cell of the mean");
    const auto& [colors, fonts, scale] = context.theme;
    const Shown shown = context.ready() ? shown_totals(context) : Shown();
    if (shown.totals == nullptr) return;
    const Matrix matrix = shown_matrix(context, shown);
    const AxisSelection& selection = context.view.selection();
    const auto t = selection.on(Axis::T), s = selection.on(Axis::S);
    if (!t || !s || *t >= matrix.data.rows || *s >= matrix.data.cols) {
        paragraph(context.ui(), fonts.body, colors.muted,
                  "Hover a cell to see where its number comes from. Click to lock it, Esc to let go.");
        return;
    }
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    const bool masked = matrix.masked(*t, *s);
    const std::string value = masked ? kMasked : number(static_cast<double>(matrix.at(*t, *s)));
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
    paragraph(context.ui(), fonts.mono_small, colors.text,
              context.view.totals.rollout ? fmt::format("R{0}[{1},{2}] = Σ over j of Ã{0}[{1},j] · R{3}[j,{2}]", shown.layer, *t, *s,
                                                        shown.layer == 0 ? "₋₁" : std::to_string(shown.layer - 1))
                                          : fmt::format("mean over {} of A[{},{}]", layers_words(shown), *t, *s));
    gap(context.ui(), 8);
    if (masked) paragraph(context.ui(), fonts.label, colors.faint, "No layer may look from this query to this key.");
    else if (context.view.totals.rollout) draw_rollout_arithmetic(context, shown, *t, *s);
    else draw_mean_arithmetic(context, shown, *t, *s);
}

}  // namespace attn::app
