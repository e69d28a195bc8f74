#include "app/session/training/follower.hpp"

#include <algorithm>

namespace attn::app {
namespace {

using namespace std::chrono_literals;

/// A little less than two frames at 60 Hz, since frame times vary.
constexpr std::chrono::milliseconds kPause = 28ms;
/// The pause is at least this many times the duration of the last forward pass.
constexpr int kShare = 4;

}  // namespace

bool Follower::is_due(const RunStatus& run, double compute_ms, Clock::time_point now) const {
    if (run.run == run_ && run.parameters_step == step_) return false;
    if (run.phase != TrainingPhase::Running) return true;
    const std::chrono::duration<double, std::milli> pause(kShare * compute_ms);
    return now - shown_ >= std::max<std::chrono::duration<double, std::milli>>(kPause, pause);
}

void Follower::shown(const RunStatus& run, Clock::time_point now) {
    run_ = run.run;
    step_ = run.parameters_step;
    shown_ = now;
}

}  // namespace attn::app
