#pragma once
/// The chip that says that dropout is on, and what else can be done with it.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Whether the shown document drops anything.
bool drops(const PanelContext& context);
/// Draws "dropout 0.3 ✕" right-aligned at `right` while it is on. Returns its width, otherwise 0.
float draw_dropout_chip(PanelContext& context, float right, float y, float room);
/// With another seed, other cells are dropped.
void draw_dropout_anew(PanelContext& context);

}  // namespace attn::app
