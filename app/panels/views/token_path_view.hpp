#pragma once
/// A published model's text on its way to the pieces that it reads: one column a character, each stage a row, and what its tokenizer does
/// to the chosen word step by step.

#include "app/panels/panel_context.hpp"
#include "app/panels/views/equation_layout.hpp"

namespace attn::app {

/// Whether the shown text has such a way: it was cut by a published model's tokenizer.
bool has_token_path(const PanelContext& context);

/// The choice of a second tokenizer, and whose steps are seen, ending at `right_top`.
void draw_other_tokenizer_menu(PanelContext& context, ImVec2 right_top);
void draw_token_path(PanelContext& context, const Box& area);

}  // namespace attn::app
