#pragma once
/// The doctor's examination of a trace.

#include <memory>
#include <stop_token>

#include "app/session/facets/doctor_report.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

/// Longer texts are not tested for whether the future is seen.
inline constexpr std::int64_t kLongestFutureTest = 64;
inline bool is_tested_for_future(const Trace<float>& trace) { return trace.tokens.length <= kLongestFutureTest; }

/// Throws Error for a text whose maps are too large for the doctor.
void expect_to_be_judged(const Trace<float>& trace);

/// What the examination takes, MiB: of all stages at once, or of one layer after the other.
double mib_to_examine(const Trace<float>& trace, bool at_once);

/// Judges every attention and block, of an outline one layer after the other. Of a trace with every stage it tests, too, whether the future
/// is seen. Throws Cancelled once `stop` is requested.
DoctorReport examine_trace(const std::shared_ptr<const Trace<float>>& trace, const std::stop_token& stop);

}  // namespace attn::app
