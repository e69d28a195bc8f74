#pragma once
/// The knock-out view: how much each head, block or position matters, as a map and as a sorted list.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

void draw_knock_out_view(PanelContext& context);

}  // namespace attn::app
