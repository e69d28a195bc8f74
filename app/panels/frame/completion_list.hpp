#pragma once
/// The words that may be meant while one is typed, below the text's row; and the sheet of all words that the model knows.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Whether the model knows a list of words.
bool knows_words(const PanelContext& context);

/// Follows what was typed in the field at `field` and draws the list over what lies below it.
void draw_completions(PanelContext& context, const TextEditResult& typed, const Box& field);

/// Draws the sheet if it is open.
void draw_word_sheet(PanelContext& context);

}  // namespace attn::app
