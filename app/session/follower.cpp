#include "app/session/follower.hpp"

#include <algorithm>

namespace attn::app {
namespace {

using namespace std::chrono_literals;

/// The first is two frames of a screen with 60 a second, whose lengths vary a little.
constexpr std::chrono::milliseconds kTracePause = 28ms, kSamplePause = 250ms, kEverythingPause = 1000ms;
/// More than the trace is abandoned after so long, for the trace's sake.
constexpr std::chrono::milliseconds kPatience = 500ms;
/// Pauses are at least so many times as long as what they follow.
constexpr int kTraceShare = 4, kSampleShare = 8, kEverythingShare = 20;

}  // namespace

std::optional<Depth> Follower::next(const TrainingSnapshot& run, const Analyst& analyst, double compute_ms, Clock::time_point now) {
    if (analyst.tracing()) return {};
    const bool newer = run.run != run_ || run.parameters_step != step_;
    if (run.phase != TrainingPhase::Running) {
        if (newer || depth_ != Depth::Everything) return Depth::Everything;
        return {};
    }
    if (depth_ != Depth::Trace && !measured_) {
        if (!analyst.rests() && now - asked_ < kPatience) return {};
        measured_ = true;
        sample_due_ = std::max(sample_due_, now + std::max<Clock::duration>(kSamplePause, kSampleShare * (now - asked_)));
        if (depth_ == Depth::Everything)
            everything_due_ = now + std::max<Clock::duration>(kEverythingPause, kEverythingShare * (now - asked_));
    }
    const std::chrono::duration<double, std::milli> trace_pause(kTraceShare * compute_ms);
    if (!newer || now - asked_ < std::max<std::chrono::duration<double, std::milli>>(kTracePause, trace_pause)) return {};
    if (now >= everything_due_) return Depth::Everything;
    return now >= sample_due_ ? Depth::Sample : Depth::Trace;
}

void Follower::asked(const TrainingSnapshot& run, Depth depth, Clock::time_point now) {
    run_ = run.run;
    step_ = run.parameters_step;
    depth_ = depth;
    measured_ = depth == Depth::Trace;
    asked_ = now;
}

}  // namespace attn::app
