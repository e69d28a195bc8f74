#pragma once
/// The line, marked with an eye, that says what is worth looking at.

#include <string>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// What was written for this text if it is about what is shown, or else what its new words mean, or what the chosen row of an attention map
/// says; "" for nothing.
std::string eye_sentence(PanelContext& context);
/// Whether what cannot be computed fits in this line, of such a width, in place of the eye's sentence; the line then says it.
bool says_problem_in_line(PanelContext& context, float width);
/// Draws the line from `at` on, in at most this width. Returns its height, which is kept free if there is nothing to say, so that the
/// picture below does not move; in a lesson, which has captions instead, there is no line.
float draw_look_at(PanelContext& context, ImVec2 at, float width);

}  // namespace attn::app
