#include "app/panels/colors.hpp"

#include <algorithm>

namespace attn::app {
namespace {

const ColorOptions& options_of(const PanelContext& context, const Matrix& matrix) {
    return matrix.content == Content::Probability ? context.view.probability_colors : context.view.signed_colors;
}

}  // namespace

HeatmapStyle style_of(const PanelContext& context, const Matrix& matrix, const StageId& id) {
    const auto& ranges = context.snapshot.ranges;
    const auto it = std::find_if(ranges.begin(), ranges.end(), [&](const StageRange& range) { return range.id == id; });
    const float lo = it == ranges.end() ? 0 : it->lo, hi = it == ranges.end() ? 0 : it->hi;
    return resolve_style(options_of(context, matrix), matrix.content == Content::Probability, lo, hi);
}

HeatmapStyle style_of(PanelContext& context, const Matrix& matrix) {
    const TensorStatistics& statistics = context.matrices.statistics(matrix);
    return resolve_style(options_of(context, matrix), matrix.content == Content::Probability, statistics.min, statistics.max);
}

}  // namespace attn::app
