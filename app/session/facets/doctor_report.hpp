#pragma once
/// What the doctor says, of the shown trace or of a file with recorded attention: plain data.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/doctor/diagnosis.hpp"
#include "engine/doctor/future_leak.hpp"

namespace attn::app {

/// A token that was changed, and which earlier outputs moved.
struct FutureTest {
    std::int64_t changed = 0;
    std::vector<doctor::Leak> moved;
};

struct DoctorReport {
    std::string file;      ///< "" for the shown trace
    bool reading = false;  ///< the file is being read: nothing else is known yet
    std::string problem;   ///< why it cannot be judged, "" when it could
    doctor::Diagnosis diagnosis;
    std::vector<FutureTest> future;  ///< of the trace's first sequence, from its second token on; empty for a file
};

}  // namespace attn::app
