#pragma once
/// The doctor's findings for the shown trace or for a recorded attention dump; plain data.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/doctor/diagnosis.hpp"
#include "engine/doctor/future_leak.hpp"

namespace attn::app {

/// A token that was changed as a test, and the earlier outputs that moved.
struct FutureTest {
    std::int64_t changed = 0;
    std::vector<doctor::Leak> moved;
};

struct DoctorReport {
    std::string file;      ///< "" for the shown trace
    bool reading = false;  ///< the file is still being read; nothing else is set
    std::string problem;   ///< why it could not be examined; "" if it was
    doctor::Diagnosis diagnosis;
    bool by_hand = false;            ///< what differs was set by edits of the shown trace
    std::vector<FutureTest> future;  ///< for the first sequence of a trace, from its second token on; empty for a file
};

}  // namespace attn::app
