#pragma once
/// The list of a model's parameters with the errors of each.

#include <string>
#include <string_view>

#include "app/panels/panel_context.hpp"
#include "app/panels/views/equation_layout.hpp"
#include "engine/precision/weight_error.hpp"

namespace attn::app {

/// "L3 attention.q" for "layers.3.attention.q.weight", "L3 attention.q.bias" for its bias.
std::string short_weight_name(std::string_view parameter);
/// The parameter that is looked at: the chosen one, else the one with the largest relative error; null where there is none.
const WeightError* chosen_weight(const PanelContext& context, const WeightComparison& errors);
/// Filter, headings that sort, and a line for each parameter, or for each kind of them; a click chooses one.
void draw_weight_table(PanelContext& context, const WeightComparison& errors, const Box& box);

}  // namespace attn::app
