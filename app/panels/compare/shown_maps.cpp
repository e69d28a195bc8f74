#include "app/panels/compare/shown_maps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/panels/compare/colors.hpp"
#include "app/panels/compare/comparison.hpp"
#include "app/panels/kit/stage_words.hpp"
#include "app/panels/maps/gradients.hpp"
#include "app/session/values/gradients.hpp"
#include "app/session/values/map_region.hpp"
#include "app/session/values/map_tensors.hpp"
#include "app/session/values/statistics.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

bool shows_difference(const PanelContext& context) {
    const Comparison& compare = context.view.compare;
    return compare.on() && (compare.layout == CompareLayout::All || compare.layout == CompareLayout::Difference);
}

/// Not for cross-attention, whose first key is not a sink common to all queries.
bool leaves_out_first_key(const PanelContext& context, const StageId& id) {
    return context.view.heads.without_first_key && (id.stage == Stage::Weights || id.stage == Stage::Dropped) &&
           id.attention == kSelfAttention && !context.view.compare.on() && !shows_gradients(context);
}

/// The numbers in the way in which the user chose to measure weights.
Found measured(const PanelContext& context, const StageId& id, std::int64_t head) {
    NumbersOf wanted = shown_side(context, id, head).numbers();
    wanted.without_first_key = leaves_out_first_key(context, id);
    wanted.norm_weighted = shows_norm_weighted(context, id);
    return context.numbers().numbers(wanted);
}

Matrix difference_of(PanelContext& context, const StageId& id, std::int64_t head) {
    const ComparedSides sides = compared_sides(context, id, head);
    return context.numbers().difference(slice_of(context, sides.b), slice_of(context, sides.a)).map;
}

/// Why the map cannot be compared; empty if it can or possibly can once it is computed.
Reason problem_of(PanelContext& context, const ComparedSides& sides) {
    if (sides.a.empty()) return sides.a.missing;
    if (!shows_difference(context)) return {};
    const Matrix a = slice_of(context, sides.a), b = slice_of(context, sides.b);
    std::string problem = no_difference(sides, a, b, "only B is shown; the switch above shows A");
    return {problem.empty() ? context.numbers().difference(b, a).problem() : problem};
}

/// What the comparison shows for a map; `values` if it cannot be compared. Empty while computing, because other numbers must not appear
/// under its title.
Matrix compared_map(PanelContext& context, const Matrix& values, const StageId& id, std::int64_t head) {
    const ComparedSides sides = compared_sides(context, id, head);
    if (!problem_of(context, sides).empty()) return values;
    return shows_difference(context) ? difference_of(context, id, head) : slice_of(context, sides.b);
}

}  // namespace

bool shows_dropout(const PanelContext& context, const Matrix& matrix) {
    const ForwardSettings& settings = context.structure().settings;
    const bool drops = settings.dropout.attention > 0 || settings.mistake == Mistake::DropoutLeftOn;
    return drops && matrix.origin && matrix.origin->stage.stage == Stage::Dropped && !matrix.is_difference && !matrix.is_gradient;
}

bool shows_norm_weighted(const PanelContext& context, const StageId& id) {
    return context.view.heads.norm_weighted && (id.stage == Stage::Weights || id.stage == Stage::Dropped) && !context.view.compare.on() &&
           !shows_gradients(context);
}

Matrix shown_slice(PanelContext& context, const StageId& id, std::int64_t head) {
    if (!context.view.compare.on() && !shows_gradients(context)) return measured(context, id, head).map;
    Matrix values = slice_of(context, shown_side(context, id, head));
    if (context.view.compare.on()) return compared_map(context, values, id, head);
    Matrix gradients = context.numbers().gradient(values);
    return gradients.empty() ? values : gradients;
}

void draw_awaited(const PanelContext& context, ImVec2 min, ImVec2 max) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const std::string_view words = text_width(fonts.label, "computing …") < max.x - min.x ? "computing …" : "…";
    list.AddRect(min, max, colors.line);
    draw_text_in(list, fonts.label, min, max, {0.5F, 0.5F}, colors.muted, words);
}

namespace {

/// The end of the range for weights of a long text times what they move, where a few large ones, usually at the first key, would leave all
/// others without colour.
float most_of_norm_weighted(const TensorStatistics& statistics) {
    constexpr double kDeviations = 10;
    return static_cast<float>(statistics.mean + kDeviations * statistics.deviation);
}

/// Gradients of all layers, which can only be compared in one range; 0 while some are not counted yet.
float reach_of_gradients(const PanelContext& context, Stage stage) {
    float reach = 0;
    for (const PlanNode& node : context.structure().plan->nodes()) {
        if (node.id.stage != stage) continue;
        const auto counted = context.ask(facet::Statistics{node.id, true});
        if (!counted) return 0;
        if (!counted->empty()) reach = std::max({reach, std::abs(counted->min), std::abs(counted->max)});
    }
    return reach;
}

}  // namespace

float shown_reach(PanelContext& context, const StageId& shown) {
    if (shows_gradients(context)) return context.view.view == View::Grid ? reach_of_gradients(context, shown.stage) : 0;
    float reach = 0;
    const bool moved = shows_norm_weighted(context, shown);
    if (!shows_difference(context) && !moved) return reach;
    for (const PlanNode& node : context.structure().plan->nodes()) {
        const bool looked_at = context.view.view == View::Grid || node.id.layer == context.view.stage.layer;
        if (!same_role(node.id, shown) || !looked_at) continue;
        for (std::int64_t head = 0; head < context.structure().shape_of(node.id).size_of(Axis::H); ++head) {
            const Matrix map = moved ? shown_slice(context, node.id, head) : difference_of(context, node.id, head);
            if (map.empty()) continue;
            const TensorStatistics& statistics = context.numbers().statistics(map);
            const float largest = std::max(std::abs(statistics.min), std::abs(statistics.max));
            reach = std::max(reach, moved && keys_of(map) > kManyKeys ? std::min(largest, most_of_norm_weighted(statistics)) : largest);
        }
    }
    return reach;
}

HeatmapStyle shown_style(PanelContext& context, const Matrix& matrix, const StageId& id, float reach) {
    if (matrix.is_gradient && reach <= 0) return style_of(context, matrix);
    if (matrix.is_norm_weighted) {
        ColorOptions options = context.view.probability_colors;
        if (options.range == RangeMode::Manual) options.range = RangeMode::Auto;
        HeatmapStyle style = resolve_style(options, true, 0, reach);
        style.hi = std::max(reach, 1e-6F);
        return style;
    }
    if (!matrix.is_difference && !matrix.is_gradient) return style_of(context, matrix, id);
    ColorOptions options = context.view.signed_colors;
    if (options.range == RangeMode::Manual) options.range = RangeMode::Auto;
    return resolve_style(options, false, -reach, reach, keys_of(matrix));
}

std::string measure_words(const PanelContext& context, const StageId& id) {
    return std::string(shows_norm_weighted(context, id) ? " × ‖v W_O‖" : "") +
           (leaves_out_first_key(context, id) ? " without the first key" : "");
}

std::string shown_title(PanelContext& context, const StageId& id) {
    std::string name = id.stage == Stage::Other ? context.structure().plan->name_of(id) : stage_title(id, token_noun(context.snapshot));
    const Comparison& compare = context.view.compare;
    if (!shown_problem(context, id).empty()) return name;
    if (shows_difference(context)) return name + (compare.swapped ? ": A − B" : ": B − A");
    if (compare.on()) return name + std::string(words_of_side(context));
    if (const std::string measure = measure_words(context, id); !measure.empty()) return name + measure;
    if (!context.wants_gradients()) return name;
    if (shows_gradients(context)) return name + ": gradient of the loss";
    return name + (context.ask(facet::Gradients{}).computing() ? ": values, gradients to come" : ": values, without gradients");
}

float draw_shown_title(PanelContext& context, const StageId& id, ImVec2 at, float right) {
    const Fonts& fonts = context.theme.fonts;
    const std::string title = shown_title(context, id);
    ImFont* font = fonts.heading;
    for (ImFont* smaller : {fonts.title, fonts.strong})
        if (text_width(font, title) > right - at.x) font = smaller;
    const std::string shown = elide(font, title, right - at.x);
    const float down = (font_size(fonts.heading) - font_size(font)) * 0.8F;  // aligns the baselines of different font sizes
    draw_text(*ImGui::GetWindowDrawList(), font, {at.x, at.y + down}, context.theme.colors.text, shown);
    const float end = at.x + text_width(font, shown);
    context.view.focus.note_read({at, {end, at.y + font_size(fonts.heading)}});
    return end;
}

Reason shown_problem(PanelContext& context, const StageId& id) {
    const std::int64_t head = context.view.head;
    if (context.view.compare.on()) return problem_of(context, compared_sides(context, id, head));
    if (shows_gradients(context)) return {};
    return {measured(context, id, head).problem()};
}

ShownRemark shown_remark(PanelContext& context, const StageId& id) {
    if (const Reason problem = shown_problem(context, id); !problem.empty()) return {problem.words, problem_color(context, problem)};
    if (!context.view.compare.on() || !shows_difference(context)) return {};
    return {why_same(context, compared_sides(context, id, context.view.head)), context.theme.colors.muted};
}

}  // namespace attn::app
