#pragma once
/// Selects numbers of a snapshot.

#include <cstdint>
#include <optional>
#include <string>

#include "engine/plan/stage.hpp"

namespace attn::app {

/// A stage's tensor, the part of it for one sequence or head, or a parameter.
struct TensorChoice {
    StageId stage;
    std::optional<std::int64_t> batch, head;
    bool gradients = false;   ///< the loss gradients instead of the values
    std::string parameter{};  ///< a parameter's name; overrides `stage` unless empty
};

}  // namespace attn::app
