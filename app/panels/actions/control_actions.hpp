#pragma once
/// Controls of every view by name: choosing one opens its view, unfolds its section and frames it for a moment.

#include <string>
#include <vector>

#include "app/panels/actions/actions.hpp"

namespace attn::app {

void add_control_actions(std::vector<Action>& all);

/// Frames the control with these words for two seconds, once it is drawn.
void frame_control(PanelContext& context, std::string words);
/// Draws that frame; after everything else.
void draw_framed_control(PanelContext& context);

}  // namespace attn::app
