#include "engine/check/rounding_reach.hpp"

#include <algorithm>
#include <cmath>

namespace attn::check {
namespace {

/// What float's rounding adds to a gradient, as a part of the root mean square of its tensor's: some roundings of a sum over all tokens.
/// (PyTorch's float gradients of small GPT-2 models differ from its double ones by a few of them, and by up to 93 where they are large.)
constexpr double kRounding = 16.0 / (1 << 24);

template <class Scalar>
double root_mean_square(const Scalar* values, std::int64_t count) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(values[i]) * static_cast<double>(values[i]);
    return std::sqrt(sum / static_cast<double>(std::max<std::int64_t>(count, 1)));
}

}  // namespace

template <class Scalar>
void RoundingReach::add_step(const TrainingState<Scalar>& state, const StepResult& step, const TrainSettings& settings) {
    if (!step.applied()) return;
    const double correction = 1 - std::pow(settings.adamw.beta2, static_cast<double>(state.steps()));
    const double clip = clip_factor(step.gradient_norm, settings.clip_norm);
    for (const ParameterInfo& info : layout_.entries()) {
        const double rounding = kRounding * clip * root_mean_square(state.gradients().data() + info.offset, info.shape.count());
        for (std::int64_t i = info.offset; i < info.offset + info.shape.count(); ++i) {
            const double moment = static_cast<double>(state.optimizer().second_moments()[static_cast<std::size_t>(i)]);
            if (moment == 0) continue;  // no gradient at all: nothing was rounded
            // Both ends of m / sqrt(v), which stays within about 1 either way, move with the gradient.
            const double turned = 2 * rounding / (std::sqrt(moment / correction) + settings.adamw.eps);
            reach_[static_cast<std::size_t>(i)] += step.learning_rate * std::min(turned, 2.0);
        }
    }
}

template void RoundingReach::add_step(const TrainingState<float>&, const StepResult&, const TrainSettings&);
template void RoundingReach::add_step(const TrainingState<double>&, const StepResult&, const TrainSettings&);

}  // namespace attn::check
