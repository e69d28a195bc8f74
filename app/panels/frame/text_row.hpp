#pragma once
/// The row with the text, as chips or in its editor.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Whether the source and the target of an encoder-decoder have a row each.
bool shows_both_texts(const PanelContext& context);
void draw_text_row(PanelContext& context);

}  // namespace attn::app
