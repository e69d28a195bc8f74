#include "app/session/training/follower.hpp"

#include <algorithm>

namespace attn::app {
namespace {

using namespace std::chrono_literals;

/// Two frames of a screen with 60 a second, whose lengths vary a little.
constexpr std::chrono::milliseconds kPause = 28ms;
/// The pause is at least so many times as long as what it follows.
constexpr int kShare = 4;

}  // namespace

bool Follower::is_due(const TrainingSnapshot& run, double compute_ms, Clock::time_point now) const {
    if (run.run == run_ && run.parameters_step == step_) return false;
    if (run.phase != TrainingPhase::Running) return true;
    const std::chrono::duration<double, std::milli> pause(kShare * compute_ms);
    return now - shown_ >= std::max<std::chrono::duration<double, std::milli>>(kPause, pause);
}

void Follower::shown(const TrainingSnapshot& run, Clock::time_point now) {
    run_ = run.run;
    step_ = run.parameters_step;
    shown_ = now;
}

}  // namespace attn::app
