#pragma once
/// What the code of the shown recording logged while it ran: a curve for each number, and texts.

#include "app/panels/kit/panel_context.hpp"
#include "app/widgets/box.hpp"

namespace attn::app {

/// Whether there is something of that to be shown, in place of a training run of our own.
bool has_recorded_course(const PanelContext& context);
void draw_recorded_course(PanelContext& context, const Box& area);

}  // namespace attn::app
