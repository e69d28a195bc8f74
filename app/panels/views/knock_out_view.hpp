#pragma once
/// The view of what each head is worth: a map of layers and heads, and the heads in order.

#include "app/panels/panel_context.hpp"

namespace attn::app {

void draw_knock_out_view(PanelContext& context);

/// What the view asks about: the loss, or the chance of the chosen token at the chosen position.
KnockOutQuestion knock_out_question(const PanelContext& context);

}  // namespace attn::app
