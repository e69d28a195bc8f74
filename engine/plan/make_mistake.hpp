#pragma once
/// Mistakes made on purpose, as changes to a plan.

#include "engine/plan/plan.hpp"

namespace attn {

/// Changes a node of the correct plan to what a model with this mistake computes there; unaffected nodes are left alone.
void make_mistake(Mistake mistake, const Config& config, PlanNode& node);

}  // namespace attn
