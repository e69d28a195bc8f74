#pragma once
/// What two tokenizers' pieces of a text have in common, and where they first differ.

#include "app/panels/kit/panel_context.hpp"
#include "app/panels/state/path_columns.hpp"
#include "app/session/values/other_tokens.hpp"

namespace attn::app {

/// Marks the first place where the tokenizations differ, behind the two rows of pieces that begin at `y`; `row`: height of each, in pixels.
void draw_first_difference(const PanelContext& context, const PlacedColumns& columns, const OtherTokens& other, float y, float row);
/// Says at height `y`, not before `left`, what the rows have in common, near the first difference.
void draw_difference_note(const PanelContext& context, const PlacedColumns& columns, const OtherTokens& other, float y, float left);

}  // namespace attn::app
