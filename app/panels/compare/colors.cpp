#include "app/panels/compare/colors.hpp"

#include <algorithm>

#include "app/panels/compare/comparison.hpp"
#include "app/session/values/statistics.hpp"

namespace attn::app {
namespace {

const ColorOptions& options_of(const PanelContext& context, const Matrix& matrix) {
    return matrix.content == Content::Probability ? context.view.probability_colors : context.view.signed_colors;
}

/// The largest weight of all maps that have the same range as this one's; 0 if unknown.
float largest_weight(const PanelContext& context, const StageId& id) {
    const ViewState& view = context.view;
    if (view.view == View::Step || view.view == View::Heads) return shared_range(context, id).hi;
    // A range must neither move while a model learns nor differ between the two sides of a comparison.
    if (view.view == View::Train || view.compare.on()) return 0;
    float largest = 0;
    for (const StageRange& range : context.snapshot.ranges)
        if (range.id.stage == id.stage) largest = std::max(largest, range.hi);
    return largest;
}

}  // namespace

std::int64_t keys_of(const Matrix& matrix) {
    const bool weights = matrix.content == Content::Probability || matrix.is_of_weights;
    return weights && matrix.col_axis == Axis::S ? ((matrix.data.cols - 1) >> matrix.data.level) + 1 : 0;
}

HeatmapStyle style_of(const PanelContext& context, const Matrix& matrix, const StageId& id) {
    const auto [lo, hi] = shared_range(context, id);
    const ColorOptions& options = options_of(context, matrix);
    HeatmapStyle style = resolve_style(options, matrix.content == Content::Probability, lo, hi, keys_of(matrix));
    // Dropout scales up what it keeps, so weights may exceed 1; those that are drawn beside them have the same colours.
    const bool beside = context.view.view == View::Step && context.view.stage.stage == Stage::Dropped && id.stage == Stage::Weights;
    const float kept = id.stage == Stage::Dropped ? hi : beside ? shared_range(context, of_same_attention(id, Stage::Dropped)).hi : 1;
    if (options.range == RangeMode::Auto && style.hi == 1) style.hi = std::max(1.F, kept);
    // Weights of a long text may all be smaller than the usual end of the range.
    const bool automatic = options.range == RangeMode::Auto && matrix.content == Content::Probability;
    if (!automatic || keys_of(matrix) <= kManyKeys) return style;
    if (const float largest = largest_weight(context, id); largest > 0) style.hi = std::min(style.hi, largest);
    return style;
}

HeatmapStyle style_of(PanelContext& context, const Matrix& matrix) {
    // A manual range is meant for the stage's values, not for parameters, differences or gradients.
    ColorOptions options = options_of(context, matrix);
    if (options.range == RangeMode::Manual) options.range = RangeMode::Auto;
    const bool probability = matrix.content == Content::Probability;
    const bool of_stage = matrix.is_gradient && matrix.origin && matrix.origin->parameter.empty();
    const auto of_all = of_stage ? context.ask(facet::Statistics{matrix.origin->stage, true}) : Answer<facet::Statistics>();
    const TensorStatistics* counted = of_all.value.get();
    if (counted == nullptr && follows_numbers(options, probability)) counted = context.numbers().count(matrix);
    // While new weights are counted, the last range stays.
    const auto [lo, hi] = context.numbers().latest_range(matrix.name, counted);
    return resolve_style(options, probability, lo, hi, keys_of(matrix));
}

}  // namespace attn::app
