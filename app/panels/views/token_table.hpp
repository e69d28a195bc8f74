#pragma once
/// The tokens of the shown text with their positions and ids, as a table.

#include "app/panels/kit/panel_context.hpp"
#include "app/widgets/box.hpp"

namespace attn::app {

/// In as many columns as fit into `area`; scrolls if they do not suffice. A click selects the token's position.
void draw_token_table(PanelContext& context, const Box& area);

}  // namespace attn::app
