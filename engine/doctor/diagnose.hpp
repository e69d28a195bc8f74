#pragma once
/// From judged sequences to one diagnosis of an attention, in words.

#include "engine/doctor/dump.hpp"
#include "engine/doctor/judge.hpp"

namespace attn::doctor {

/// Of one attention in one reading.
Diagnosis diagnose(const Attention& attention, const Hints& hints);

/// What else is worth knowing about the numbers: sums, masked rows, saturated and uniform heads, spreads. Where something is `wrong`, that
/// is why all heads may be uniform.
std::vector<Finding> observations(const Attention& attention, const std::vector<Judgement>& judgements, bool wrong);

}  // namespace attn::doctor
