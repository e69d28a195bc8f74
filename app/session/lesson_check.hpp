#pragma once
/// Whether all that a lesson points at exists.

#include <string_view>

#include "app/session/lesson.hpp"

namespace attn::app {

/// Computes what every step shows (of a training run the model before its first step) and looks up the places that the step names.
/// Throws FileError naming `source`, the step and the field for a place that does not exist, for a document that cannot be computed, and
/// for a comparison, gradients or a view that the model does not allow. Which steps a run will have made when it ends by its loss or
/// accuracy is not known here: see missing_moment().
void check_lesson(const Lesson& lesson, std::string_view source);

}  // namespace attn::app
