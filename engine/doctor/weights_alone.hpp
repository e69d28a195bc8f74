#pragma once
/// Judges weights that cannot be recomputed from anything.

#include "engine/doctor/judge.hpp"

namespace attn::doctor {

/// Checks row sums, and weights where the mask forbids them. If weights are recorded and were not judged, adds a comparison and suspects to
/// `judgement`; otherwise does nothing.
void judge_weights_alone(const Sequence& sequence, const std::vector<IntendedMask>& intended, Judgement& judgement);

/// If nothing reproduces rows that do not sum to 1: replaces the suspects if the sums themselves reveal a mistake.
void suspect_sums_of_weights(const Sequence& sequence, const std::vector<IntendedMask>& intended, Judgement& judgement);

}  // namespace attn::doctor
