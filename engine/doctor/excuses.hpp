#pragma once
/// Differences that are not mistakes: deviations of real programs from textbook attention.

#include "engine/doctor/trial.hpp"

namespace attn::doctor {

/// Accepts such differences, with a warning each, if there are no others.
void excuse(Trial& trial);

}  // namespace attn::doctor
