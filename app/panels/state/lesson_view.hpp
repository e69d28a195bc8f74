#pragma once
/// The state of the open lesson, including what to restore when it is closed.

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

/// The source of the caption's quotation `part`, and where maps show it in this frame.
struct QuotedCell {
    std::size_t part = 0;
    QuotedPlace place;
    std::vector<std::pair<ImVec2, ImVec2>> seen{};  ///< rectangles in pixels
    bool pointed_at = false;                        ///< its number in the caption is hovered or focused
    ImVec2 number{0, 0};                            ///< centre of the number's lower edge
};

struct LessonView {
    std::shared_ptr<const Lesson> lesson;  ///< null: no lesson is open
    std::size_t step = 0;
    LessonGoal goal;                                             ///< brings the session to the step
    bool look_pending = false;                                   ///< the step's numbers, and with them its look, are not there yet
    bool may_train = false;                                      ///< the user has allowed their own training run to be replaced
    std::map<std::size_t, std::optional<std::size_t>> expected;  ///< the user's answers by step; none: shown without a guess
    std::vector<QuotedCell> quoted;                              ///< quotations in the visible caption

    bool visiting = false;                            ///< command::BeginVisit was given
    std::shared_ptr<const Document> document_before;  ///< document and view before the lesson was opened
    std::shared_ptr<const ViewState> view_before;
    std::shared_ptr<const ViewState> given_back;  ///< view of a lesson just left, until the document from before it is computed; else null
    std::map<std::string, std::size_t> left_at;   ///< by lesson name: the step at which it was left unfinished

    bool open() const { return lesson != nullptr; }
    const LessonStep& current() const { return lesson->steps[step]; }
    /// Whether the current step's question is waiting for an answer.
    bool asking() const { return open() && current().question && !expected.contains(step); }
    /// The step on screen: while a question is waiting, the one before it.
    const LessonStep& shown() const { return lesson->steps[asking() && step > 0 ? step - 1 : step]; }
    /// Whether the settings pane shows this group.
    bool shows(LessonControl control) const { return !open() || shown().look.controls.test(static_cast<std::size_t>(control)); }
};

}  // namespace attn::app
