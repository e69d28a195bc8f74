#pragma once
/// The doctor's examination of a trace.

#include <memory>
#include <stop_token>

#include "app/session/values/doctor_report.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

/// Longer texts are not tested for leaks from the future.
inline constexpr std::int64_t kLongestFutureTest = 64;
inline bool is_tested_for_future(const Trace<float>& trace) { return trace.tokens.length <= kLongestFutureTest; }

/// Throws Error for a text whose attention maps are too large for the doctor.
void expect_to_be_judged(const Trace<float>& trace);

/// Memory that the examination takes, in MiB: with all stages at once, or one layer after the other.
double mib_to_examine(const Trace<float>& trace, bool at_once);

/// Examines every attention and every block; of an outline, one layer after the other. A whole trace is also tested for leaks from the
/// future. Throws Cancelled once `stop` is requested.
DoctorReport examine_trace(const std::shared_ptr<const Trace<float>>& trace, const std::stop_token& stop);

}  // namespace attn::app
