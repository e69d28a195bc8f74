#pragma once
/// Tries the known mistakes on what differs.

#include "engine/doctor/trial.hpp"

namespace attn::doctor {

/// Finds the mistakes that explain the first difference, under the first few of the masks that may be meant.
void find_suspects(Trial& trial, const std::vector<IntendedMask>& intended);

}  // namespace attn::doctor
