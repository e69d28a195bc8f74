#pragma once
/// The table of a model's parameters with their errors.

#include <string>
#include <string_view>

#include "app/panels/kit/panel_context.hpp"
#include "app/widgets/box.hpp"
#include "engine/precision/weight_error.hpp"

namespace attn::app {

/// "L3 attention.q" for "layers.3.attention.q.weight", "L3 attention.q.bias" for its bias.
std::string short_weight_name(std::string_view parameter);
/// The selected parameter, otherwise the one with the largest relative error; null if there is none.
const WeightError* chosen_weight(const PanelContext& context, const WeightComparison& errors);
/// Draws the filter, headings that sort, and a line per parameter or kind of parameter; a click selects one.
void draw_weight_table(PanelContext& context, const WeightComparison& errors, const Box& box);

}  // namespace attn::app
