#pragma once
/// Mistakes made on purpose, as changes of a plan.

#include "engine/plan/plan.hpp"

namespace attn {

/// Changes a node of the right plan into what a model with this mistake computes there; other nodes stay as they are.
void make_mistake(Mistake mistake, const Config& config, PlanNode& node);

}  // namespace attn
