#pragma once
/// How often the newest parameters of a run under way are shown.

#include <chrono>
#include <cstdint>

#include "app/session/training/training_report.hpp"

namespace attn::app {

/// The trace keeps up with the run, 30 times a second where the model allows it. One thread.
class Follower {
public:
    using Clock = std::chrono::steady_clock;

    /// Whether to show the newest parameters now. `compute_ms` is what the last trace took.
    bool is_due(const TrainingSnapshot& run, double compute_ms, Clock::time_point now) const;
    /// They are shown from now on, because they were due or because the person changed the document.
    void shown(const TrainingSnapshot& run, Clock::time_point now);

private:
    std::uint64_t run_ = 0;
    std::int64_t step_ = -1;
    Clock::time_point shown_;
};

}  // namespace attn::app
