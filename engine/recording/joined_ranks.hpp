#pragma once
/// Heads that the processes of a job computed side by side (tensor parallelism), as those of one model. Every process records the heads,
/// columns and partial sums that it has; what all of them have is the same in each.

#include <optional>
#include <span>

#include "engine/recording/recording.hpp"

namespace attn::recording {

/// What all processes of a job recorded, as one recording, of the steps that all of them have: `ranks` are theirs, at least two. Nothing
/// unless the numbers show that they are parts of one model: the same numbers enter the attentions and leave them, but heads differ.
/// `before`: the recording as it was joined earlier; null if it was not. Throws FileError if a step cannot be read.
std::optional<Recording> join_ranks(std::span<const Recording> ranks, const Recording* before);

}  // namespace attn::recording
