#pragma once
/// Shows tokenization step by step: one column per character, one row per stage, and the steps for the selected word.

#include "app/panels/kit/panel_context.hpp"
#include "app/widgets/box.hpp"

namespace attn::app {

struct TokenPath;

/// Whether the steps of the shown text can be shown.
bool has_token_path(const PanelContext& context);

/// Draws the choice of a second tokenizer and of whose steps are shown, right-aligned at `right_top`.
void draw_other_tokenizer_menu(PanelContext& context, ImVec2 right_top);
/// The steps of the shown text by the chosen tokenizer, or those of the previous text until they are ready; null if there are none yet or
/// if they cannot be shown.
const TokenPath* shown_token_path(PanelContext& context);
/// The word whose steps are shown: the one selected in the view, otherwise that of the selected token, otherwise the one with the most
/// steps.
std::size_t shown_word(const PanelContext& context, const TokenPath& path);
void draw_token_path(PanelContext& context, const Box& area);

}  // namespace attn::app
