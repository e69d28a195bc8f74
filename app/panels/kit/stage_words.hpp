#pragma once
/// Stages and axes in words, for headings.

#include <cstdint>
#include <string>
#include <string_view>

#include "app/session/values/snapshot.hpp"
#include "engine/plan/stage.hpp"
#include "engine/tensor/shape.hpp"

namespace attn::app {

/// What the texts of a snapshot are split into: "word", "piece", "character" or "byte".
std::string_view token_noun(const Snapshot& snapshot);
/// Such as "Weights", "Queries", "Cross-weights"; the code name if a stage has no title. `noun`: see token_noun().
std::string stage_title(const StageId& id, std::string_view noun);
/// The code name of a stage to follow its title, "q_rotated · "; "" if the title says the same.
std::string name_beside_title(const StageId& id);
/// What an axis counts, such as "positions that attend (queries)".
std::string_view axis_meaning(Axis axis);
/// "one head", "both heads" or "all 12 heads".
std::string all_heads(std::int64_t count);
/// What scaling scores by a factor does: "÷ √16" for the usual one, "÷ 12", "" where it does nothing.
std::string scale_words(double factor, std::int64_t head_size);
/// One line per axis: "T12  positions that attend (queries)".
std::string shape_words(const Shape& shape);

}  // namespace attn::app
