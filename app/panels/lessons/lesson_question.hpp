#pragma once
/// The question asked before a step, its answers, and the verdict shown with the step.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Height of the question and its answers in pixels at this width.
float question_height(const PanelContext& context, float width);
void draw_question(PanelContext& context, ImVec2 at, float width);

/// Height of the line that compares the expectation with the result; 0 if the step did not ask.
float verdict_height(const PanelContext& context);
void draw_verdict(const PanelContext& context, ImVec2 at, float width);

}  // namespace attn::app
