#pragma once
/// What can be done in the views of many maps, by name: for the command palette.

#include "app/panels/actions/actions.hpp"

namespace attn::app {

/// How the lines, the totals, the comparison and the histogram are drawn.
void add_view_actions(const PanelContext& context, std::vector<Action>& all);

}  // namespace attn::app
