#pragma once
/// The map of the Totals view.

#include "app/panels/kit/panel_context.hpp"
#include "app/panels/maps/matrix.hpp"

namespace attn::app {

/// The map shown of attention over all layers up to the shown one, as rollout or mean; in a comparison A, B or their difference, as its
/// symbol says. Empty until it is computed.
Matrix totals_matrix(PanelContext& context);

}  // namespace attn::app
