#include "engine/check/rounding_reach.hpp"

#include <cmath>

#include "engine/tensor/error.hpp"
#include "engine/tensor/matrix.hpp"
#include "engine/tensor/random.hpp"

namespace attn::check {
namespace {

/// Rounding error of a float gradient relative to the root mean square of its tensor's gradient: a few roundings of a sum over all tokens.
/// (In small GPT-2 models PyTorch's float and double gradients differ by a few roundings, and by up to 93 where gradients are large.)
constexpr double kRounding = 16.0 / (1 << 24);

/// Another correct program may end this many times farther away than the perturbed runs; the largest factor seen was 1.6.
constexpr double kBeyondSample = 4;

/// The keys' bias has no gradient except rounding errors, which may cancel to 0 in one program and not in another.
bool is_bias_of_keys(const ParameterInfo& info, std::int64_t i) {
    const std::int64_t width = info.shape.count() / 3;
    return info.name.ends_with("attention.qkv.bias") && i / width == 1;
}

using Numbers = Eigen::Array<double, Eigen::Dynamic, 1>;

template <class Scalar>
auto in_double(const Scalar* values, std::int64_t count) {
    return Eigen::Array<Scalar, Eigen::Dynamic, 1>::Map(values, count).template cast<double>();
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
        const std::int64_t count = info.shape.count();
        const double rounding = kRounding * clip * std::sqrt(in_double(state.gradients().data() + info.offset, count).square().mean());
        const auto moments = in_double(state.optimizer().second_moments().data() + info.offset, count);
        // m / sqrt(v) stays within about [-1, 1], and m and v both change with the gradient.
        const Numbers turned = (2 * rounding / ((moments / correction).sqrt() + settings.adamw.eps)).min(2);
        for (std::int64_t i = 0; i < count; ++i)
            if (moments[i] != 0 || is_bias_of_keys(info, i))  // otherwise there was no gradient to round
                reach_[static_cast<std::size_t>(info.offset + i)] += step.learning_rate * turned[i];
    }
}

template <class Scalar>
void RoundingReach::add_run(const Parameters<Scalar>& end, const Parameters<Scalar>& perturbed_end) {
    if (end.count() != layout_.count() || perturbed_end.count() != layout_.count())
        throw ShapeError("runs of " + std::to_string(end.count()) + " and " + std::to_string(perturbed_end.count()) +
                         " parameters cannot be compared with " + std::to_string(layout_.count()));
    const Numbers gaps = (in_double(perturbed_end.data(), end.count()) - in_double(end.data(), end.count())).abs();
    Numbers::MapType reach(reach_.data(), end.count());
    reach = (kBeyondSample * gaps > reach).select(kBeyondSample * gaps, reach);
}

template Parameters<float> perturbed(const Parameters<float>&, std::uint64_t);
template Parameters<double> perturbed(const Parameters<double>&, std::uint64_t);
template void RoundingReach::add_run(const Parameters<float>&, const Parameters<float>&);
template void RoundingReach::add_run(const Parameters<double>&, const Parameters<double>&);
template void RoundingReach::add_step(const TrainingState<float>&, const StepResult&, const TrainSettings&);
template void RoundingReach::add_step(const TrainingState<double>&, const StepResult&, const TrainSettings&);

}  // namespace attn::check
