#pragma once
/// Fake training results: curves, moments and examples of known shape, for tests of drawing.

#include "app/session/training/training_report.hpp"

namespace attn::app::test {

struct FakeRun {
    std::uint64_t run = 1;
    std::int64_t steps = 1240, limit = 2000;
    std::int64_t layers = 2, heads = 4;
    TrainingPhase phase = TrainingPhase::Running;
    double rate = 3e-3;
};

/// The loss falls, the second head of the first layer forms the previous-token pattern and the third head of the second layer induction.
RunCurves fake_curves(const FakeRun& fake);
/// A status of the run with evenly spaced moments.
std::shared_ptr<RunStatus> fake_status(const FakeRun& fake);
/// Several runs; the status is that of the last.
TrainingReport fake_report(const std::vector<FakeRun>& runs);

}  // namespace attn::app::test
