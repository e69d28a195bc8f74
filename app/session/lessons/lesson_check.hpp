#pragma once
/// Whether all that a lesson points at exists, and all that it claims is true.

#include <string_view>

#include "app/session/lessons/lesson.hpp"

namespace attn::app {

/// Computes what every step shows (of a training run the model before its first step) and looks up the places that the step names.
/// Throws FileError naming `source`, the step and the field for a place that does not exist, for a document that cannot be computed, for a
/// comparison, gradients or a view that the model does not allow, for a claim that is false, and for a question of whose answers not
/// exactly one is right. Of a model that the lesson itself trains claims and answers are only known once it has been trained; neither are
/// the steps that a run will have made when it ends by its loss or accuracy: see missing_moment().
void check_lesson(const Lesson& lesson, std::string_view source);

}  // namespace attn::app
