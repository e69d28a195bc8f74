#pragma once
/// Checks that everything a lesson refers to exists and that its claims are true.

#include <string_view>

#include "app/session/lessons/lesson.hpp"

namespace attn::app {

/// Computes what every step shows (for a training run, the model before its first step) and resolves every reference. Throws FileError
/// naming `source`, the step and the field for a reference to something that does not exist, a document that cannot be computed, a
/// comparison, gradients or a view that the model does not allow, a false claim, and a question without exactly one correct answer. Not
/// checked are claims and answers about a model that the lesson itself trains, nor the number of steps of a run that ends by its loss or
/// accuracy: see missing_moment().
void check_lesson(const Lesson& lesson, std::string_view source);

/// Parses and checks the text of a lesson's file. Errors also say line and column.
Lesson read_lesson(std::string_view json, std::string_view source);

}  // namespace attn::app
