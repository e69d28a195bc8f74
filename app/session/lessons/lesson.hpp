#pragma once
/// Lessons: sequences of steps, each with a document, a view, possibly a training run, and a caption that explains what is shown.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/document/document.hpp"
#include "app/session/document/look.hpp"
#include "app/session/lessons/caption.hpp"
#include "app/session/lessons/claim.hpp"

namespace attn::app {

/// A training run, started by the first step that uses it and shared by the steps that continue it.
struct LessonTraining {
    RunSettings run;                                ///< `run.stop` says when it ends
    std::optional<std::int64_t> moment;             ///< the step whose model is shown; none: the latest
    std::optional<std::vector<std::string>> texts;  ///< shown instead of the run's own
    std::optional<ForwardSettings> forward;         ///< used instead of the run's own
};

/// One of the choices of a question.
struct LessonAnswer {
    std::string text;
    Claim when;  ///< true for the shown step if this answer is correct
};

/// A question asked before a step is shown, over the picture of the previous step.
struct LessonQuestion {
    std::string text;
    std::vector<LessonAnswer> answers;  ///< two to four, exactly one correct
};

/// A step with everything it inherits from the previous ones.
struct LessonStep {
    std::string title;
    Caption caption;
    std::vector<Claim> claims;               ///< the caption's statements in checkable form
    std::optional<LessonQuestion> question;  ///< none: the step is shown immediately
    Document document;                       ///< shown if there is no training
    std::optional<LessonTraining> training;
    Look look;
    std::set<std::string, std::less<>> said;  ///< fields specified by this step in the file; all others are inherited
};

struct Lesson {
    std::string name;        ///< such as "masks"
    std::string title;       ///< such as "Masks"
    std::string summary;     ///< one sentence, shown in the menu
    std::int32_t order = 0;  ///< position in the menu
    std::vector<LessonStep> steps;
};

/// The answer that is correct for what is shown; none if there is none (yet), or more than one.
std::optional<std::size_t> right_answer(const LessonQuestion& question, const Snapshot& snapshot, const TrainingReport& training);

/// Parses a lesson's JSON. Throws FileError naming `source`, the step and the field for anything unknown, missing or impossible. Does not
/// check whether the places it refers to exist and its claims are true; see check_lesson().
Lesson parse_lesson(std::string_view json, std::string_view source);

/// The names of all lessons in the program, in menu order. Reads no models, unlike lessons().
std::vector<std::string> lesson_names();
/// The embedded lessons in menu order, parsed once.
std::span<const std::shared_ptr<const Lesson>> lessons();
/// An embedded lesson by name, or a checked lesson from a file. Throws Error listing the available lessons, FileError for an invalid file.
std::shared_ptr<const Lesson> find_lesson(const std::string& name_or_file);

}  // namespace attn::app
