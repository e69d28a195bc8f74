#pragma once
/// Soft caps of scores, as in Gemma 2: x becomes cap tanh(x / cap).

#include <functional>
#include <optional>

#include "engine/doctor/estimate.hpp"

namespace attn::doctor {

/// Minus infinity becomes -cap.
Estimate softcapped(const Estimate& x, double cap, const Rounding& rounding);

/// Whether recorded scaled scores [H,T,S] are capped already, judged by the next stage that is recorded: they are if they equal `capped`;
/// otherwise, of uncapped and capped numbers, those are taken that are closer to it.
bool scaled_are_capped(const Sequence& sequence, double cap);

/// The cap between 1 and 500 that leaves the smallest sum of squared errors, if that is less than the part `left` of the sum without a cap.
/// `squares` gives the sum for a cap.
std::optional<double> best_cap(double without, double left, const std::function<double(double)>& squares);

/// A cap as somebody would have written it, before the measured one.
std::vector<double> likely_caps(double measured);

}  // namespace attn::doctor
