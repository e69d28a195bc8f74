#pragma once
/// Lessons: steps that each set up document, view and training run, and say a few sentences about what is seen.

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

/// A training run, begun by the first step that has it and shared by those that go on with it.
struct LessonTraining {
    RunSettings run;                                ///< `run.stop` says until when
    std::optional<std::int64_t> moment;             ///< the step whose model is shown; none: the newest
    std::optional<std::vector<std::string>> texts;  ///< in place of the run's own
    std::optional<ForwardSettings> forward;         ///< the same
};

/// One of the answers to choose from.
struct LessonAnswer {
    std::string text;
    Claim when;  ///< true of what the step shows if this is the right one
};

/// What is asked before a step is shown, over the picture of the step before it.
struct LessonQuestion {
    std::string text;
    std::vector<LessonAnswer> answers;  ///< two to four, of which one is right
};

/// A step as it is to be shown, with all that it has from the steps before it.
struct LessonStep {
    std::string title;
    Caption caption;
    std::vector<Claim> claims;               ///< what the caption says in words
    std::optional<LessonQuestion> question;  ///< none: the step is shown at once
    Document document;                       ///< what is shown where there is no training
    std::optional<LessonTraining> training;
    Look look;
    std::set<std::string, std::less<>> said;  ///< the fields that the file has for this step; all else stays as it was
};

struct Lesson {
    std::string name;        ///< "masks"
    std::string title;       ///< "Masks"
    std::string summary;     ///< one sentence for the menu
    std::int32_t order = 0;  ///< place in the menu
    std::vector<LessonStep> steps;
};

/// The answer that is right in what is shown; nothing where none is (yet), or more than one.
std::optional<std::size_t> right_answer(const LessonQuestion& question, const Snapshot& snapshot, const TrainingReport& training);

/// Reads a lesson's JSON. Throws FileError naming `source`, the step and the field for anything unknown, missing or impossible. Whether
/// the places that it names exist, and what it claims is true, is check_lesson()'s question.
Lesson parse_lesson(std::string_view json, std::string_view source);

/// The lessons inside the program in the order of the menu, parsed once.
std::span<const std::shared_ptr<const Lesson>> lessons();
/// A lesson by its name, or the file of that path, checked. Throws Error naming the lessons that there are, FileError for a bad file.
std::shared_ptr<const Lesson> find_lesson(const std::string& name_or_file);

}  // namespace attn::app
