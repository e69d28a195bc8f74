#pragma once
/// A lesson as one HTML page with its pictures, numbers and questions: for reading and printing without the program and without a network.

#include <filesystem>
#include <string>

#include "app/session/lessons/lesson.hpp"
#include "engine/io/write_watch.hpp"

namespace attn::app {

/// Computes every step, trains what it trains, and returns the page. Throws Error for what cannot be computed, and Cancelled.
std::string lesson_page(const Lesson& lesson, const WriteWatch& watch = {});
/// The same into a file. Throws FileError too.
void write_lesson_page(const std::filesystem::path& path, const Lesson& lesson, const WriteWatch& watch = {});

}  // namespace attn::app
