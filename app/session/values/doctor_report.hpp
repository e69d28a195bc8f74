#pragma once
/// The doctor's findings for the shown trace or for a recorded attention dump; plain data.

#include <cstdint>
#include <string>
#include <vector>

#include "app/session/values/facet.hpp"
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

namespace facet {

struct Doctor {
    using Value = DoctorReport;
    static constexpr FacetInfo kInfo{.failed = "could not examine the numbers: ", .runs_model = true};
    static Job<Value> make(const Doctor&, Ask& ask);
    bool operator==(const Doctor&) const = default;
};

/// A recorded attention dump, examined. Belongs to no state. A new `opening` forces the file to be read again.
struct Dump {
    using Value = DoctorReport;
    static constexpr FacetInfo kInfo{};
    std::string file;
    std::uint64_t opening = 0;
    static Job<Value> make(const Dump&, Ask& ask);
    bool operator==(const Dump&) const = default;
};

}  // namespace facet

}  // namespace attn::app
