#pragma once
/// The likeliest next tokens, at the right end of the text's row.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Draws up to three candidates and the button of a menu with the others, right-aligned at `right` in a row of the height of a chip from
/// `y` on. Returns where it begins; `right` if the model predicts no next token.
float draw_next_words(PanelContext& context, float right, float y);

}  // namespace attn::app
