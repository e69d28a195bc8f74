#pragma once
/// Stages and axes in words: what stands in headings, before code names and letters.

#include <string>
#include <string_view>

#include "engine/plan/stage.hpp"
#include "engine/tensor/shape.hpp"

namespace attn::app {

/// "Weights", "Queries", "Cross-weights"; the code name of a stage that has no words.
std::string stage_title(Stage stage);
/// What an axis counts: "positions that ask (queries)".
std::string_view axis_meaning(Axis axis);
/// A line for every axis: "T12  positions that ask (queries)".
std::string shape_words(const Shape& shape);

}  // namespace attn::app
