#pragma once
/// The row with the text, as chips or in its editor.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

void draw_text_row(PanelContext& context);

}  // namespace attn::app
