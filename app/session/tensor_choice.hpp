#pragma once
/// Which numbers of a snapshot are meant.

#include <cstdint>
#include <optional>

#include "engine/trace/stage.hpp"

namespace attn::app {

/// A stage's tensor, or the part of it that belongs to one sequence or one head.
struct TensorChoice {
    StageId stage;
    std::optional<std::int64_t> batch, head;
    bool gradients = false;  ///< what the numbers do to the loss, instead of them
};

}  // namespace attn::app
