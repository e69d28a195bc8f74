#pragma once
/// A head's attention weights as lines from queries to keys.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Draws the selected head in the rest of the current child window: keys on the left, queries on the right, line strength proportional to
/// weight. Hovering over a token shows only its lines; a click keeps it selected.
void draw_attention_lines(PanelContext& context);

}  // namespace attn::app
