#pragma once
/// Shows tokenization step by step: one column per character, one row per stage, and the steps for the selected word.

#include "app/panels/panel_context.hpp"
#include "app/panels/views/equation_layout.hpp"

namespace attn::app {

/// Whether the steps of the shown text can be shown.
bool has_token_path(const PanelContext& context);

/// Draws the choice of a second tokenizer and of whose steps are shown, right-aligned at `right_top`.
void draw_other_tokenizer_menu(PanelContext& context, ImVec2 right_top);
void draw_token_path(PanelContext& context, const Box& area);

}  // namespace attn::app
