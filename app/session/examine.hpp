#pragma once
/// The doctor's examination of a trace.

#include <stop_token>

#include "app/session/doctor_report.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

/// Judges every attention and block of the trace and tests whether the future is seen, for texts of up to kLongestFutureTest tokens.
/// Throws Cancelled once `stop` is requested.
DoctorReport examine_trace(const Trace<float>& trace, const std::stop_token& stop);

inline constexpr std::int64_t kLongestFutureTest = 64;

}  // namespace attn::app
