#pragma once
/// Actions that stand for what there is a list of: stages, heads, layers, sequences, lessons, examples, tasks, parts, mistakes, colours.

#include <vector>

#include "app/panels/actions/actions.hpp"

namespace attn::app {

void add_listed_actions(const PanelContext& context, std::vector<Action>& all);

}  // namespace attn::app
