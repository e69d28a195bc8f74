#pragma once
/// Actions generated from lists: stages, heads, layers, sequences, lessons, examples, tasks, settings sections, mistakes, colours.

#include <vector>

#include "app/panels/actions/actions.hpp"

namespace attn::app {

void add_listed_actions(const PanelContext& context, std::vector<Action>& all);

}  // namespace attn::app
