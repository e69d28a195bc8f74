#pragma once
/// One head's weights as lines from every query to the keys it looks at.

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// The chosen head of the chosen layer, in the rest of the current child window: keys at the left, queries at the right, a line as
/// strong as its weight. Pointing at a token shows its lines alone; a click keeps it chosen.
void draw_attention_lines(PanelContext& context);

}  // namespace attn::app
