#include "engine/train/train_step.hpp"

#include <algorithm>
#include <cmath>

#include "engine/kernels/kernels.hpp"
#include "engine/tensor/random.hpp"

namespace attn {
namespace {

template <class Scalar>
std::string first_not_finite(const Parameters<Scalar>& gradients) {
    for (const ParameterInfo& info : gradients.layout().entries())
        if (!kernels<Scalar>().all_finite(gradients.data() + info.offset, info.shape.count())) return info.name;
    return "the gradient norm";
}

}  // namespace

template <class Scalar>
TrainingState<Scalar>::TrainingState(Parameters<Scalar> parameters)
    : parameters_(std::move(parameters)), pass_(parameters_), optimizer_(parameters_.layout()) {}

template <class Scalar>
StepResult TrainingState<Scalar>::step(const TokenBatch& tokens, const TokenBatch& source, std::span<const std::int32_t> targets,
                                       const TrainSettings& settings, std::stop_token stop) {
    require_adamw(settings.adamw);
    StepResult result;
    result.learning_rate = learning_rate(settings.schedule, steps());
    forward_ = settings.forward;
    forward_.dropout.seed = CounterRandom(settings.forward.dropout.seed, 0).bits(static_cast<std::uint64_t>(steps()));
    Tap<Scalar> tap(false, std::move(stop));
    pass_.forward(tokens, source, forward_, tap);
    const CrossEntropy loss = pass_.loss(targets);
    result.loss = loss.loss;
    result.counted = loss.counted;
    if (loss.counted == 0) return result;
    if (!std::isfinite(loss.loss)) {
        result.not_finite = "the loss";
        return result;
    }
    pass_.backward(tap);
    result.gradient_norm = gradient_norm(pass_.gradients());
    if (!std::isfinite(result.gradient_norm)) {
        result.not_finite = first_not_finite(pass_.gradients());
        return result;
    }
    optimizer_.step(settings.adamw, result.learning_rate, clip_factor(result.gradient_norm, settings.clip_norm), pass_.gradients(),
                    parameters_);
    return result;
}

template <class Scalar>
CrossEntropy TrainingState<Scalar>::evaluate(const TokenBatch& tokens, const TokenBatch& source, std::span<const std::int32_t> targets,
                                             const TrainSettings& settings) {
    forward_ = settings.forward;
    forward_.dropout = {};
    Tap<Scalar> tap;
    pass_.forward(tokens, source, forward_, tap);
    return pass_.loss(targets);
}

template <class Scalar>
void TrainingState<Scalar>::restore(const Parameters<Scalar>& parameters, std::span<const Scalar> first_moments,
                                    std::span<const Scalar> second_moments, std::int64_t steps) {
    const std::size_t count = static_cast<std::size_t>(parameters_.count());
    if (!(parameters.config() == parameters_.config()) || first_moments.size() != count || second_moments.size() != count)
        throw ShapeError("a run of " + std::to_string(parameters.count()) + " parameters and " + std::to_string(first_moments.size()) +
                         " and " + std::to_string(second_moments.size()) + " moments does not fit this model of " + std::to_string(count));
    std::copy(parameters.data(), parameters.data() + count, parameters_.data());
    std::copy(first_moments.begin(), first_moments.end(), optimizer_.first_moments().begin());
    std::copy(second_moments.begin(), second_moments.end(), optimizer_.second_moments().begin());
    optimizer_.set_steps(steps);
}

template class TrainingState<float>;
template class TrainingState<double>;

}  // namespace attn
