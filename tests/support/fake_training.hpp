#pragma once
/// A training run that never was: curves, moments and examples of a known form, for tests of what is drawn of them.

#include "app/session/training/training_report.hpp"

namespace attn::app::test {

struct FakeRun {
    std::uint64_t run = 1;
    std::int64_t steps = 1240, limit = 2000;
    std::int64_t layers = 2, heads = 4;
    TrainingPhase phase = TrainingPhase::Running;
    double rate = 3e-3;
};

/// Loss falls, the second head of the first layer takes up the previous token and the third of the second layer induction.
RunCurves fake_curves(const FakeRun& fake);
/// A snapshot of the run with evenly spaced moments.
std::shared_ptr<TrainingSnapshot> fake_snapshot(const FakeRun& fake);
/// Several runs; the snapshot is that of the last.
TrainingReport fake_report(const std::vector<FakeRun>& runs);

}  // namespace attn::app::test
