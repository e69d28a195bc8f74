#pragma once
/// The map of the Totals view.

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// Attention over all layers up to the shown one, as rollout or mean; empty until it is computed.
Matrix totals_matrix(const PanelContext& context);

}  // namespace attn::app
