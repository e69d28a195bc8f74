#pragma once
/// Helpers for commands that take a lesson.

#include <cstddef>
#include <cstdint>

#include "app/session/lessons/lesson.hpp"

namespace attn::app {

/// Converts a step number, counted from 1, to an index. Throws Error naming the existing steps.
std::size_t lesson_step_index(const Lesson& lesson, std::int64_t step);

}  // namespace attn::app
