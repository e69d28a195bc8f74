#pragma once
/// How often, and how thoroughly, the newest parameters of a run under way are looked at.

#include <chrono>
#include <cstdint>
#include <optional>

#include "app/session/analyst.hpp"
#include "app/session/training_report.hpp"

namespace attn::app {

/// The trace keeps up with the run, 30 times a second where the model allows it. What takes longer (gradients, verification, the sample)
/// is let finish from time to time, and always once the run stands still. One thread.
class Follower {
public:
    using Clock = std::chrono::steady_clock;

    /// What to ask the analyst for now, if anything. `compute_ms` is what the last trace took.
    std::optional<Depth> next(const TrainingSnapshot& run, const Analyst& analyst, double compute_ms, Clock::time_point now);
    /// The newest parameters have been asked for, by next() or because the person changed the document.
    void asked(const TrainingSnapshot& run, Depth depth, Clock::time_point now);

private:
    std::uint64_t run_ = 0;
    std::int64_t step_ = -1;
    Depth depth_ = Depth::Trace;
    bool measured_ = true;  ///< how long the last one took
    Clock::time_point asked_, sample_due_, everything_due_;
};

}  // namespace attn::app
