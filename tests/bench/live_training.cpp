/// Measures the cost of watching a training run: alternates between the bare run and one with a session that follows it as the window does.
///
/// Usage: live_training_bench [TASK [SECONDS_A_TURN [TURNS]]]

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "app/session/values/gradients.hpp"
#include "app/session/values/sample.hpp"
#include "app/session/values/verification.hpp"
#include "engine/tensor/error.hpp"
#include "engine/train/training_run.hpp"

namespace attn::app {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// Steps per second, as in `attnscope train`.
double bare_speed(TrainingRun& run, double seconds) {
    const auto begin = Clock::now();
    const std::int64_t first = run.steps();
    while (seconds_since(begin) < seconds) {
        run.step();
        if (run.evaluation_due()) run.evaluate();
    }
    return static_cast<double>(run.steps() - first) / seconds_since(begin);
}

struct Watched {
    double steps_a_second = 0, traces_a_second = 0;
};

/// The same run with a window that draws nothing, but takes over news 60 times a second.
Watched watched_speed(Session& session, double seconds) {
    constexpr std::chrono::microseconds kFrame{16'667};
    const std::int64_t first = session.training().status->step;
    const auto begin = Clock::now();
    session.apply({command::StartTraining{}, ""});
    std::int64_t traces = 0;
    std::uint64_t serial = session.snapshot()->serial;
    for (auto frame = begin; seconds_since(begin) < seconds; frame += kFrame) {
        session.update();
        const StateRef shown = session.snapshot()->state;
        session.want({{shown, facet::Verification{}}, {shown, facet::Sample{session.document().sampling}}, {shown, facet::Gradients{}}});
        if (const std::uint64_t now = session.snapshot()->serial; now != serial) {
            serial = now;
            ++traces;
        }
        std::this_thread::sleep_until(frame + kFrame);
    }
    session.apply({command::PauseTraining{}, ""});
    session.wait_for_training();
    const double took = seconds_since(begin);
    const auto steps = static_cast<double>(session.training().status->step - first);
    session.wait();
    return {steps / took, static_cast<double>(traces) / took};
}

int measure(TaskKind task, double seconds, int turns) {
    RunSettings settings = default_run(task);
    settings.stop = {.steps = 0};
    settings.train.schedule.kind = ScheduleKind::Constant;  // any other ends, and a run that learns nothing does not start again
    TrainingRun run(settings);
    Session session(open_preset(kDefaultPreset), [] {});
    session.apply({command::SetRun{settings}, ""});
    session.apply({command::ResetTraining{}, ""});
    session.wait_for_training();
    std::vector<double> bare, watched, traces, shares;
    for (int turn = -1; turn < turns; ++turn) {
        const double alone = bare_speed(run, seconds);
        const Watched both = watched_speed(session, seconds);
        if (const RunStatus& run_watched = *session.training().status;
            run_watched.phase != TrainingPhase::Paused || !(both.steps_a_second > 0) || !(both.traces_a_second > 0))
            throw Error(fmt::format("the watched run made {:.1f} steps and {:.1f} traces a second: {}", both.steps_a_second,
                                    both.traces_a_second, run_watched.message));
        if (turn < 0) continue;  // warm-up
        bare.push_back(alone);
        watched.push_back(both.steps_a_second);
        traces.push_back(both.traces_a_second);
        shares.push_back(both.steps_a_second / alone);
        fmt::print("{:8.1f} steps/s bare {:8.1f} watched {:6.1f} % {:6.1f} traces/s\n", alone, both.steps_a_second,
                   100 * both.steps_a_second / alone, both.traces_a_second);
    }
    fmt::print("{}: {:.1f} steps/s bare, {:.1f} watched: {:.1f} % with {:.1f} traces/s (medians of {} turns)\n", task_info(task).name,
               median(bare), median(watched), 100 * median(shares), median(traces), turns);
    return 0;
}

}  // namespace
}  // namespace attn::app

int main(int argc, char** argv) {
    try {
        const double seconds = argc > 2 ? std::atof(argv[2]) : 2;
        const int turns = argc > 3 ? std::max(1, std::atoi(argv[3])) : 7;
        return attn::app::measure(attn::task_kind(argc > 1 ? argv[1] : "repeat"), seconds, turns);
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
