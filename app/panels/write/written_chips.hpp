#pragma once
/// The text of the branch that is looked at, from the prompt to its end; every written token is a moment.

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// Pixels that all of it takes in `width`.
float written_chips_height(const PanelContext& context, float width);
void draw_written_chips(PanelContext& context);

}  // namespace attn::app
