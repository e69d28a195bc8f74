#pragma once
/// What may come next at the moment that is shown, as bars, with the sampler's cut drawn in.

#include "app/panels/panel_context.hpp"

namespace attn::app {

void draw_candidates(PanelContext& context);

}  // namespace attn::app
