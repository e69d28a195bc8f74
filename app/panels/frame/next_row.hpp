#pragma once
/// The likeliest next tokens, below the text.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// The row of next-token candidates below the text, and its height for a window height in pixels; 0 if the row is not shown.
float next_row_height(const PanelContext& context, float window_height);
void draw_next_row(PanelContext& context);
/// For low windows without that row: draws up to three candidates in the text row, right-aligned at `right`. Returns the width used of
/// `room`.
float draw_few_next_words(PanelContext& context, float right, float y, float room);

}  // namespace attn::app
