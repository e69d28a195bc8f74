#pragma once
/// Decides how often the newest parameters of a running training run are shown.

#include <chrono>
#include <cstdint>

#include "app/session/training/training_report.hpp"

namespace attn::app {

/// Shows new parameters up to 30 times a second if the model is fast enough. Not thread-safe.
class Follower {
public:
    using Clock = std::chrono::steady_clock;

    /// Whether to show the newest parameters now. `compute_ms`: the duration of the last forward pass.
    bool is_due(const RunStatus& run, double compute_ms, Clock::time_point now) const;
    /// To be called when new parameters are shown, whether due or because the user changed the document.
    void shown(const RunStatus& run, Clock::time_point now);

private:
    std::uint64_t run_ = 0;
    std::int64_t step_ = -1;
    Clock::time_point shown_;
};

}  // namespace attn::app
