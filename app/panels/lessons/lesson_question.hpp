#pragma once
/// What a step asks before it is shown, the answers to choose from, and afterwards what was expected and what is.

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// Height in pixels of the question and its answers at this width.
float question_height(const PanelContext& context, float width);
void draw_question(PanelContext& context, ImVec2 at, float width);

/// Height of the line that says what was expected and what is; 0 for a step that did not ask.
float verdict_height(const PanelContext& context);
void draw_verdict(const PanelContext& context, ImVec2 at, float width);

}  // namespace attn::app
