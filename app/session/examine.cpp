#include "app/session/examine.hpp"

#include <utility>

#include "engine/doctor/doctor.hpp"
#include "engine/tensor/error.hpp"
#include "engine/trace/trace_file.hpp"

namespace attn::app {

DoctorReport examine_trace(const Trace<float>& trace, const std::stop_token& stop) {
    DoctorReport report;
    report.diagnosis = doctor::examine(trace_arrays(trace));
    const std::int64_t length = trace.tokens.lengths.empty() ? 0 : trace.tokens.lengths.front();
    if (length > kLongestFutureTest || trace.config.vocab_size < 2) return report;
    for (std::int64_t position = 1; position < length; ++position) {
        if (stop.stop_requested()) throw Cancelled();
        report.future.push_back({position, doctor::future_leaks(trace, 0, position, stop)});
    }
    return report;
}

}  // namespace attn::app
