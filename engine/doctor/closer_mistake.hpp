#pragma once
/// In 16-bit numbers, rounding may explain what a mistake explains much better.

#include "engine/doctor/trial.hpp"

namespace attn::doctor {

/// The mistake whose numbers are closer to the recorded ones than those that are right, although both are within rounding; nullopt if there
/// is none. Looks at one head of a long text. Does nothing for numbers of 32 or 64 bits, whose rounding hides no mistake.
std::optional<Suspect> closer_mistake(const Trial& right);

}  // namespace attn::doctor
