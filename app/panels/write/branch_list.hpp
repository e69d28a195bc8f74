#pragma once
/// The list of generated branches: each can be shown, compared and deleted.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

void draw_branches(PanelContext& context);

}  // namespace attn::app
