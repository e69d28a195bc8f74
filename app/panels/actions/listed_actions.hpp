#pragma once
/// Actions generated from lists: stages, heads, layers, sequences, lessons, examples, tasks, mistakes, colours, sections of the settings.

#include <vector>

#include "app/panels/actions/actions.hpp"

namespace attn::app {

void add_listed_actions(const PanelContext& context, std::vector<Action>& all);
/// To be added last, since a setting is found by many words.
void add_settings_actions(const PanelContext& context, std::vector<Action>& all);

}  // namespace attn::app
