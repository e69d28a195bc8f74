#pragma once
/// What fits the numbers may still be something that nobody would intend, or that the file contradicts.

#include "engine/doctor/trial.hpp"

namespace attn::doctor {

/// Adds warnings to a judgement that is right so far, or suspects, which end it.
void doubt_intent(Trial& trial);

}  // namespace attn::doctor
