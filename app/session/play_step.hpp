#pragma once
/// A step of a lesson, played at once.

#include "app/session/lessons/lesson.hpp"

namespace attn::app {

class Session;

/// Brings the session to where the step wants it and waits for all of it; for pictures and tests. Ends whatever run is under way.
void play_step(Session& session, const LessonStep& step);

}  // namespace attn::app
