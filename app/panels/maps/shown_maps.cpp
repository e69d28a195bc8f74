#include "app/panels/maps/shown_maps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/panels/colors.hpp"
#include "app/panels/compare/comparison.hpp"
#include "app/panels/maps/gradients.hpp"
#include "app/panels/maps/stage_words.hpp"
#include "engine/trace/gradient_trace.hpp"

namespace attn::app {
namespace {

bool shows_difference(const PanelContext& context) {
    const Comparison& compare = context.view.compare;
    return compare.on() && (compare.layout == CompareLayout::All || compare.layout == CompareLayout::Difference);
}

/// Cross-attention has no first key that all queries would see.
bool leaves_out_first_key(const PanelContext& context, const StageId& id) {
    return context.view.without_first_key && (id.stage == Stage::Weights || id.stage == Stage::Dropped) && !context.view.compare.on() &&
           !shows_gradients(context);
}

Matrix difference_of(PanelContext& context, const StageId& id, std::int64_t head) {
    const ComparedSides sides = compared_sides(context, id, head);
    return context.matrices.difference(slice_of(context, sides.b), slice_of(context, sides.a));
}

}  // namespace

Matrix shown_slice(PanelContext& context, const StageId& id, std::int64_t head) {
    const Matrix values = slice_of(context, shown_side(context, id, head));
    if (context.view.compare.on()) {
        const ComparedSides sides = compared_sides(context, id, head);
        Matrix compared = shows_difference(context) ? difference_of(context, id, head) : slice_of(context, sides.b);
        return compared.empty() ? values : compared;
    }
    const auto of_loss = shown_gradients(context);
    if (of_loss == nullptr)
        return leaves_out_first_key(context, id) && !values.empty() ? context.matrices.without_first_key(values) : values;
    Matrix gradients = context.matrices.gradient_of(values, *context.snapshot_with(id).trace, *of_loss);
    return gradients.empty() ? values : gradients;
}

float shown_reach(PanelContext& context, Stage stage) {
    float reach = 0;
    if (!shows_difference(context)) return reach;
    for (const PlanNode& node : context.trace().plan->nodes()) {
        if (node.id.stage != stage) continue;
        for (std::int64_t head = 0; head < context.trace().shape_of(node.id).size_of(Axis::H); ++head) {
            const Matrix difference = difference_of(context, node.id, head);
            if (difference.empty()) continue;
            const TensorStatistics& statistics = context.matrices.statistics(difference);
            reach = std::max({reach, std::abs(statistics.min), std::abs(statistics.max)});
        }
    }
    return reach;
}

HeatmapStyle shown_style(PanelContext& context, const Matrix& matrix, const StageId& id, float reach) {
    if (matrix.is_gradient) return style_of(context, matrix);
    if (!matrix.is_difference) return style_of(context, matrix, id);
    ColorOptions options = context.view.signed_colors;
    if (options.range == RangeMode::Manual) options.range = RangeMode::Auto;
    return resolve_style(options, false, -reach, reach);
}

std::string shown_title(PanelContext& context, const StageId& id) {
    const std::string name = stage_title(id.stage);
    const Comparison& compare = context.view.compare;
    if (!shown_problem(context, id).empty()) return name;
    if (shows_difference(context)) return name + (compare.swapped ? ": A − B" : ": B − A");
    if (compare.on()) return name + (compare.swapped ? " of A" : " of B");
    if (leaves_out_first_key(context, id)) return name + " without the first key, rescaled";
    return name + (shows_gradients(context) ? ": gradient of the loss" : "");
}

std::string shown_problem(PanelContext& context, const StageId& id) {
    if (!context.view.compare.on()) return "";
    const ComparedSides sides = compared_sides(context, id, context.view.head);
    if (sides.a.empty()) return sides.a.missing;
    return shows_difference(context) ? no_difference(sides, slice_of(context, sides.a), slice_of(context, sides.b)) : "";
}

}  // namespace attn::app
