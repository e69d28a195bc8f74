#pragma once
/// Makes lessons: what is shown becomes a step of a lesson file.

#include <filesystem>
#include <memory>
#include <string>

#include "app/session/lessons/lesson.hpp"
#include "app/session/training/training_report.hpp"
#include "engine/io/json.hpp"

namespace attn::app {

/// Title and caption of a new step; the caption may quote numbers.
struct StepWords {
    std::string title, caption;
};

/// What is shown, as a step of a lesson file that inherits nothing from other steps. Throws Error saying what of it no lesson can show, or
/// what is wrong with the caption. `run`: the current training run.
Json lesson_step(const Document& document, const Look& look, const RunStatus& run, const StepWords& words);

/// Appends the step to the lesson in the file, or begins one there, and returns that lesson, checked. A lesson that would not open is not
/// written. Throws FileError.
std::shared_ptr<const Lesson> append_lesson_step(const std::filesystem::path& file, Json step);

}  // namespace attn::app
