#pragma once
/// View options by name, for the command palette.

#include "app/panels/actions/actions.hpp"

namespace attn::app {

/// Adds the display options of the lines, the totals, the comparison and the histogram.
void add_view_actions(const PanelContext& context, std::vector<Action>& all);

}  // namespace attn::app
