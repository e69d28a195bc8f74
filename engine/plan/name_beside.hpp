#pragma once
/// Stages of several layers in one sentence.

#include <string>

#include "engine/plan/stage.hpp"

namespace attn {

/// The name of a stage beside another one: with its place where that is another, "L0 residual_2" beside a stage of layer 1, or "encoder
/// final_norm" beside one of the decoder.
std::string name_beside(const StageId& id, const StageId& other);

}  // namespace attn
