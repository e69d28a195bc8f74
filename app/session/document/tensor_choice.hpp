#pragma once
/// Which numbers of a snapshot are meant.

#include <cstdint>
#include <optional>
#include <string>

#include "engine/plan/stage.hpp"

namespace attn::app {

/// A stage's tensor, or the part of it that belongs to one sequence or one head; or a parameter.
struct TensorChoice {
    StageId stage;
    std::optional<std::int64_t> batch, head;
    bool gradients = false;   ///< what the numbers do to the loss, instead of them
    std::string parameter{};  ///< its name where a parameter of the model is meant in place of a stage
};

}  // namespace attn::app
