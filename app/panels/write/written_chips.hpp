#pragma once
/// The text of the shown branch as chips, from the prompt to its end; every generated token is a moment.

#include <cstddef>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// The total height in pixels when wrapped at `width`.
float written_chips_height(const PanelContext& context, float width);
void draw_written_chips(PanelContext& context);
/// Moves by so many moments of the shown branch, between the prompt and its end.
void step_written(PanelContext& context, std::ptrdiff_t by);

}  // namespace attn::app
