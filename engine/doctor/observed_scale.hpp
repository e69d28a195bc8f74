#pragma once
/// What the scores of a recording were multiplied by, read from its numbers.

#include <optional>

#include "engine/doctor/sequence.hpp"

namespace attn::doctor {

/// Scaled over scores at the largest score, where both are recorded.
std::optional<double> scaled_over_scores(const Sequence& sequence);

/// The factor between q kᵀ (or the recorded scores, where q or k are missing) and the scaled scores, or the softmax's input where only
/// the weights are recorded: there the logarithm of two weights' ratio is the difference of their scaled scores. One pair of cells
/// decides; whether the factor holds throughout is for a recipe to find out. Nothing where a mask with biases hides it.
std::optional<double> observed_scale(const Sequence& sequence);

}  // namespace attn::doctor
