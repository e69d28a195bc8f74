#pragma once
/// The help, over everything else.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

void draw_help_sheet(PanelContext& context);

}  // namespace attn::app
