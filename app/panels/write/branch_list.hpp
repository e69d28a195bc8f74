#pragma once
/// The branches of what was written: each can be looked at, compared with and given up.

#include "app/panels/panel_context.hpp"

namespace attn::app {

void draw_branches(PanelContext& context);

}  // namespace attn::app
