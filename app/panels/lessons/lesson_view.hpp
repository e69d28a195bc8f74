#pragma once
/// The lesson that is open, and what it will give back when it is closed.

#include <imgui.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/session/lessons/lesson.hpp"
#include "app/session/lessons/lesson_goal.hpp"

namespace attn::app {

struct ViewState;

/// Where the caption's quotation number `part` comes from, and where maps have shown it in this frame.
struct QuotedCell {
    std::size_t part = 0;
    QuotedPlace place;
    std::vector<std::pair<ImVec2, ImVec2>> seen{};  ///< corners in pixels
    bool pointed_at = false;                        ///< the mouse or the keyboard is on its number
    ImVec2 number{0, 0};                            ///< lower edge of it, in the middle
};

struct LessonView {
    std::shared_ptr<const Lesson> lesson;  ///< null: none is open
    std::size_t step = 0;
    LessonGoal goal;                                             ///< on the way to the step
    bool look_pending = false;                                   ///< the step's view is not taken yet: its numbers are still being computed
    bool may_train = false;                                      ///< the person has let a run of their own be replaced
    std::map<std::size_t, std::optional<std::size_t>> expected;  ///< answers by step; none: it was shown without one
    std::vector<QuotedCell> quoted;                              ///< of the caption, as far as it is shown

    std::shared_ptr<const Document> document_before;  ///< as they were when the lesson was opened
    std::shared_ptr<const ViewState> view_before;
    std::map<std::string, std::size_t> left_at;  ///< by a lesson's name: the step at which it was left before its end

    bool open() const { return lesson != nullptr; }
    const LessonStep& current() const { return lesson->steps[step]; }
    /// The current step's question waits for an answer.
    bool asking() const { return open() && current().question && !expected.contains(step); }
    /// The step that is on screen: while one asks, that before it.
    const LessonStep& shown() const { return lesson->steps[asking() && step > 0 ? step - 1 : step]; }
    /// Whether the settings pane shows this part.
    bool shows(LessonControl control) const { return !open() || shown().look.controls.test(static_cast<std::size_t>(control)); }
};

}  // namespace attn::app
