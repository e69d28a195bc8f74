#pragma once
/// What weights tell when nothing is there that they could be recomputed from.

#include "engine/doctor/judge.hpp"

namespace attn::doctor {

/// Row sums, and probability where the mask forbids it. Adds a comparison (with what it should be) and suspects to `judgement` when
/// weights are recorded and were not judged; else does nothing.
void judge_weights_alone(const Sequence& sequence, const std::vector<Plan>& plans, Judgement& judgement);

/// What the sums of rows that do not sum to 1 tell when nothing reproduces them: replaces the suspects if they do tell.
void suspect_sums_of_weights(const Sequence& sequence, const std::vector<Plan>& plans, Judgement& judgement);

}  // namespace attn::doctor
