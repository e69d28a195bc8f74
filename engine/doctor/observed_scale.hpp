#pragma once
/// Determines from a recording's numbers what its scores were multiplied by.

#include <optional>

#include "engine/doctor/sequence.hpp"

namespace attn::doctor {

/// The factor from q kᵀ (or from the recorded scores if q or k are missing) to the scaled scores; or, if only weights are recorded, to the
/// softmax's input, since the log ratio of two weights is the difference of their scaled scores. Based on a few cells only: whether the
/// factor applies throughout is for a recipe to determine. nullopt if no cell reveals it.
std::optional<double> observed_scale(const Sequence& sequence);

}  // namespace attn::doctor
