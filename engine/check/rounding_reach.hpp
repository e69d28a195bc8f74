#pragma once
/// How far the rounding of gradients can carry parameters in a training run.

#include <vector>

#include "engine/train/train_step.hpp"

namespace attn::check {

/// Perturbed runs that a check makes: their spread is a sample, which RoundingReach widens.
inline constexpr int kPerturbedRuns = 4;

/// Parameters that differ from `start` by up to two roundings of float, other ones for every `seed`.
template <class Scalar>
Parameters<Scalar> perturbed(const Parameters<Scalar>& start, std::uint64_t seed);

/// AdamW divides a gradient by its own size, so that it moves a parameter as far by a gradient that is nothing but rounding as by a large
/// one: the bias of the keys, which softmax does not see, walks wherever the rounding points, and so does a number whose first gradient
/// happens to be nearly 0. Whatever depends on such a number follows it: the weights into and out of a hidden unit whose bias walks.
/// Two correct programs may differ there, and only there, by more than a tolerance of values. The first kind is estimated from the
/// gradients of every step, the second is seen by making the run again from perturbed parameters.
class RoundingReach {
public:
    explicit RoundingReach(const ParameterLayout& layout) : layout_(layout), reach_(static_cast<std::size_t>(layout.count())) {}

    /// Adds what one step, just made, may have contributed.
    template <class Scalar>
    void add_step(const TrainingState<Scalar>& state, const StepResult& step, const TrainSettings& settings);

    /// Adds what a perturbed run made of the parameters that the run itself left at `end`.
    template <class Scalar>
    void add_run(const Parameters<Scalar>& end, const Parameters<Scalar>& perturbed_end);

    /// For every parameter, as they lie in the layout.
    const std::vector<double>& values() const { return reach_; }

private:
    const ParameterLayout& layout_;
    std::vector<double> reach_;  ///< by the gradients of the steps, widened by the runs
};

}  // namespace attn::check
