#pragma once
/// What commands that take a lesson share.

#include <cstddef>
#include <cstdint>

#include "app/session/lessons/lesson.hpp"

namespace attn::app {

/// From the number that a person gives, counted from 1. Throws Error naming the steps that there are.
std::size_t lesson_step_index(const Lesson& lesson, std::int64_t step);

}  // namespace attn::app
