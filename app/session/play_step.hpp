#pragma once
/// Plays a step of a lesson without user interaction.

#include "app/session/lessons/lesson.hpp"

namespace attn::app {

class Session;

/// Brings the session to the state that the step describes and waits until it is computed; for rendering and tests. Ends the current
/// training run.
void play_step(Session& session, const LessonStep& step);

}  // namespace attn::app
