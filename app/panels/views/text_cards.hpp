#pragma once
/// The stage strip's cards for the steps from a text to its pieces, which come before the model's own stages.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

struct ModelBlock;
struct TokenPath;

/// The steps to draw before the stages of a block; null if the block does not begin with the pieces, or their steps cannot be shown.
const TokenPath* carded_token_path(PanelContext& context, const ModelBlock& block);
/// How many cards draw_text_cards() draws.
std::size_t count_text_cards(const TokenPath& path);
/// Goes to the next or previous stage of the model, and at the pieces from card to card of the text.
void walk_stages(PanelContext& context, int direction);
/// Draws the cards from left to right, each in an area of this size.
void draw_text_cards(PanelContext& context, const TokenPath& path, ImVec2 at, ImVec2 size);

}  // namespace attn::app
