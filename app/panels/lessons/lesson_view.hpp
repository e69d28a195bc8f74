#pragma once
/// The lesson that is open, and what it will give back when it is closed.

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "app/session/lesson.hpp"
#include "app/session/lesson_goal.hpp"

namespace attn::app {

struct ViewState;

struct LessonView {
    std::shared_ptr<const Lesson> lesson;  ///< null: none is open
    std::size_t step = 0;
    LessonGoal goal;            ///< on the way to the step
    bool look_pending = false;  ///< the step's view is not taken yet: its numbers are still being computed
    bool may_train = false;     ///< the person has let a run of their own be replaced

    std::shared_ptr<const Document> document_before;  ///< as they were when the lesson was opened
    std::shared_ptr<const ViewState> view_before;
    std::map<std::string, std::size_t> left_at;  ///< by a lesson's name: the step at which it was left before its end

    bool open() const { return lesson != nullptr; }
    const LessonStep& shown() const { return lesson->steps[step]; }
    /// Whether the settings pane shows this part.
    bool shows(LessonControl control) const { return !open() || shown().look.controls.test(static_cast<std::size_t>(control)); }
};

}  // namespace attn::app
