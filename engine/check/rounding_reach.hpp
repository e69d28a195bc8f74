#pragma once
/// How far rounding errors in gradients can move parameters during a training run.

#include <vector>

#include "engine/train/train_step.hpp"

namespace attn::check {

/// How many perturbed runs a check makes; RoundingReach widens their spread, which is only a sample.
inline constexpr int kPerturbedRuns = 4;

/// `start` with every parameter changed by up to two float roundings, differently for every `seed`.
template <class Scalar>
Parameters<Scalar> perturbed(const Parameters<Scalar>& start, std::uint64_t seed);

/// AdamW divides a gradient by its own magnitude, so a gradient that is pure rounding error moves a parameter as far as a large one. The
/// keys' bias, to which softmax is invariant, therefore drifts arbitrarily, and so does a parameter whose first gradient happens to be
/// almost 0; whatever depends on such a parameter follows it, such as the weights of a hidden unit whose bias drifts. There, and only
/// there, two correct programs may differ by more than a tolerance. The first kind is estimated from every step's gradients, the second by
/// repeating the run from perturbed parameters.
class RoundingReach {
public:
    explicit RoundingReach(const ParameterLayout& layout) : layout_(layout), reach_(static_cast<std::size_t>(layout.count())) {}

    /// Adds the possible effect of the step just made.
    template <class Scalar>
    void add_step(const TrainingState<Scalar>& state, const StepResult& step, const TrainSettings& settings);

    /// Adds the difference between a perturbed run's final parameters and those of the run itself, `end`.
    template <class Scalar>
    void add_run(const Parameters<Scalar>& end, const Parameters<Scalar>& perturbed_end);

    /// For every parameter, in layout order.
    const std::vector<double>& values() const { return reach_; }

private:
    const ParameterLayout& layout_;
    std::vector<double> reach_;  ///< from the gradients of all steps, widened by the perturbed runs
};

}  // namespace attn::check
