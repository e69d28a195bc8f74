#pragma once
/// The knock-out view: how much each head contributes, as a map of layers and heads and as a sorted list.

#include "app/panels/panel_context.hpp"

namespace attn::app {

void draw_knock_out_view(PanelContext& context);

/// The question for the shown selection: the loss, or the probability of the selected token at the selected position.
KnockOutQuestion knock_out_question(const PanelContext& context);

}  // namespace attn::app
