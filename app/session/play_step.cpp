#include "app/session/play_step.hpp"

#include "app/session/lessons/lesson_goal.hpp"
#include "app/session/session.hpp"

namespace attn::app {

void play_step(Session& session, const LessonStep& step) {
    LessonGoal goal(step);
    goal.allow();
    session.update();
    while (!goal.done()) {
        for (const Command& command : goal.next(session.document(), session.training())) session.apply(command);
        session.wait_for_training();
    }
}

}  // namespace attn::app
