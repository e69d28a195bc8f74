#pragma once
/// Turns the judgements of sequences into one diagnosis of an attention, in words.

#include "engine/doctor/dump.hpp"
#include "engine/doctor/judge.hpp"

namespace attn::doctor {

/// Diagnoses an attention under one reading of its file. Throws Cancelled once `stop` is requested.
Diagnosis diagnose(const Attention& attention, const Hints& hints, const std::stop_token& stop);

/// Other facts worth knowing: row sums, masked rows, saturated and uniform heads, spreads. `wrong`: a mistake was found, which may be why
/// all heads are uniform.
std::vector<Finding> observations(const Attention& attention, const std::vector<Judgement>& judgements, bool wrong);

}  // namespace attn::doctor
