#pragma once
/// How far the rounding of gradients can carry parameters in a training run.

#include <vector>

#include "engine/train/train_step.hpp"

namespace attn::check {

/// AdamW divides a gradient by its own size, so that it moves a parameter as far by a gradient that is nothing but rounding as by a large
/// one: the bias of the keys, which softmax does not see, walks wherever the rounding points, and so does a number whose first gradient
/// happens to be nearly 0. Two correct programs may differ there, and only there, by more than a tolerance of values.
class RoundingReach {
public:
    explicit RoundingReach(const ParameterLayout& layout) : layout_(layout), reach_(static_cast<std::size_t>(layout.count())) {}

    /// Adds what one step, just made, may have contributed.
    template <class Scalar>
    void add_step(const TrainingState<Scalar>& state, const StepResult& step, const TrainSettings& settings);

    /// For every parameter, as they lie in the layout.
    const std::vector<double>& values() const { return reach_; }

private:
    const ParameterLayout& layout_;
    std::vector<double> reach_;
};

}  // namespace attn::check
