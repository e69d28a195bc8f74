#pragma once
/// Lists of stages, for messages.

#include <string>

#include "engine/plan/plan.hpp"

namespace attn {

/// The stages of a model, each once; those of an encoder-decoder apart: "encoder: tokens, …; decoder: tokens, …".
std::string stages_of(const Plan& plan);
/// The stages that models can have.
std::string all_stages();

}  // namespace attn
