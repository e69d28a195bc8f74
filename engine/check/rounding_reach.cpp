#include "engine/check/rounding_reach.hpp"

#include <algorithm>
#include <cmath>

#include "engine/tensor/error.hpp"
#include "engine/tensor/random.hpp"

namespace attn::check {
namespace {

/// What float's rounding adds to a gradient, as a part of the root mean square of its tensor's: some roundings of a sum over all tokens.
/// (PyTorch's float gradients of small GPT-2 models differ from its double ones by a few of them, and by up to 93 where they are large.)
constexpr double kRounding = 16.0 / (1 << 24);

/// How much farther than a few perturbed runs another correct program may end: the largest seen was 1.6 times.
constexpr double kBeyondSample = 4;

/// The bias of keys has no gradient but rounding, which may cancel to 0 in one program and not in another.
bool is_bias_of_keys(const ParameterInfo& info, std::int64_t i) {
    const std::int64_t width = info.shape.count() / 3;
    return info.name.ends_with("attention.qkv.bias") && i / width == 1;
}

template <class Scalar>
double root_mean_square(const Scalar* values, std::int64_t count) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(values[i]) * static_cast<double>(values[i]);
    return std::sqrt(sum / static_cast<double>(std::max<std::int64_t>(count, 1)));
}

}  // namespace

template <class Scalar>
Parameters<Scalar> perturbed(const Parameters<Scalar>& start, std::uint64_t seed) {
    const CounterRandom random(seed, 0);
    Parameters<Scalar> out = start;
    for (std::int64_t i = 0; i < out.count(); ++i) {
        const double direction = 2 * random.uniform(static_cast<std::uint64_t>(i)) - 1;
        out.data()[i] *= static_cast<Scalar>(1 + 0x1p-22 * direction);
    }
    return out;
}

template <class Scalar>
void RoundingReach::add_step(const TrainingState<Scalar>& state, const StepResult& step, const TrainSettings& settings) {
    if (!step.applied()) return;
    const double correction = 1 - std::pow(settings.adamw.beta2, static_cast<double>(state.steps()));
    const double clip = clip_factor(step.gradient_norm, settings.clip_norm);
    for (const ParameterInfo& info : layout_.entries()) {
        const double rounding = kRounding * clip * root_mean_square(state.gradients().data() + info.offset, info.shape.count());
        for (std::int64_t i = info.offset; i < info.offset + info.shape.count(); ++i) {
            const double moment = static_cast<double>(state.optimizer().second_moments()[static_cast<std::size_t>(i)]);
            if (moment == 0 && !is_bias_of_keys(info, i - info.offset)) continue;  // no gradient at all: nothing was rounded
            // Both ends of m / sqrt(v), which stays within about 1 either way, move with the gradient.
            const double turned = 2 * rounding / (std::sqrt(moment / correction) + settings.adamw.eps);
            reach_[static_cast<std::size_t>(i)] += step.learning_rate * std::min(turned, 2.0);
        }
    }
}

template <class Scalar>
void RoundingReach::add_run(const Parameters<Scalar>& end, const Parameters<Scalar>& perturbed_end) {
    if (end.count() != layout_.count() || perturbed_end.count() != layout_.count())
        throw ShapeError("runs of " + std::to_string(end.count()) + " and " + std::to_string(perturbed_end.count()) +
                         " parameters do not compare with " + std::to_string(layout_.count()));
    for (std::int64_t i = 0; i < end.count(); ++i) {
        const double gap = std::abs(static_cast<double>(perturbed_end.data()[i]) - static_cast<double>(end.data()[i]));
        double& reach = reach_[static_cast<std::size_t>(i)];
        reach = std::max(reach, kBeyondSample * gap);
    }
}

template Parameters<float> perturbed(const Parameters<float>&, std::uint64_t);
template Parameters<double> perturbed(const Parameters<double>&, std::uint64_t);
template void RoundingReach::add_run(const Parameters<float>&, const Parameters<float>&);
template void RoundingReach::add_run(const Parameters<double>&, const Parameters<double>&);
template void RoundingReach::add_step(const TrainingState<float>&, const StepResult&, const TrainSettings&);
template void RoundingReach::add_step(const TrainingState<double>&, const StepResult&, const TrainSettings&);

}  // namespace attn::check
