#pragma once
/// What the scores of a recording were multiplied by, read from its numbers.

#include <optional>

#include "engine/doctor/sequence.hpp"

namespace attn::doctor {

/// The factor between q kᵀ (or the recorded scores, where q or k are missing) and the scaled scores, or the softmax's input where only
/// the weights are recorded: there the logarithm of two weights' ratio is the difference of their scaled scores. Few cells
/// decide; whether the factor holds throughout is for a recipe to find out. Nothing where no cell tells.
std::optional<double> observed_scale(const Sequence& sequence);

}  // namespace attn::doctor
