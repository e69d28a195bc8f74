#pragma once
/// Compares a trace with the plain double-precision reference, stage by stage.

#include <stop_token>

#include "engine/reference/verification.hpp"
#include "engine/trace/trace.hpp"

namespace attn::reference {

/// Tolerance |error| <= atol + rtol |expected| of `float` against `double`.
inline constexpr double kFloatAtol = 2e-5;
inline constexpr double kFloatRtol = 1e-4;

/// Recomputes everything with plain double loops and compares. A NaN where the other has none fails; NaN against NaN agrees.
/// A stage that the trace lacks or has too many fails. Throws Cancelled once `stop` is requested.
template <class Scalar>
Verification verify(const Trace<Scalar>& trace, double atol = kFloatAtol, double rtol = kFloatRtol, std::stop_token stop = {});

}  // namespace attn::reference
