#include "engine/train/adamw.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "engine/kernels/kernels.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/tensor/error.hpp"

namespace attn {

void require_adamw(const AdamwSettings& settings) {
    const auto require = [](const char* what, double value, bool good, const char* possible) {
        if (!good) throw ConfigError(std::string(what) + " is " + std::to_string(value) + "; expected " + possible);
    };
    require("beta1", settings.beta1, settings.beta1 >= 0 && settings.beta1 < 1, "at least 0 and below 1");
    require("beta2", settings.beta2, settings.beta2 >= 0 && settings.beta2 < 1, "at least 0 and below 1");
    require("eps", settings.eps, settings.eps > 0 && std::isfinite(settings.eps), "a number above 0");
    require("the weight decay", settings.weight_decay, settings.weight_decay >= 0 && std::isfinite(settings.weight_decay), "0 or more");
}

template <class Scalar>
Adamw<Scalar>::Adamw(const ParameterLayout& layout)
    : m_(static_cast<std::size_t>(layout.count())), v_(static_cast<std::size_t>(layout.count())) {}

template <class Scalar>
void Adamw<Scalar>::step(const AdamwSettings& settings, double rate, double gradient_factor, const Parameters<Scalar>& gradients,
                         Parameters<Scalar>& parameters) {
    require_adamw(settings);
    if (!(rate >= 0 && std::isfinite(rate))) throw ConfigError("the learning rate is " + std::to_string(rate) + "; expected 0 or more");
    if (!std::isfinite(gradient_factor)) throw ConfigError("gradients cannot be multiplied by " + std::to_string(gradient_factor));
    if (gradients.count() != parameters.count() || static_cast<std::int64_t>(m_.size()) != parameters.count())
        throw ShapeError(std::to_string(gradients.count()) + " gradients and " + std::to_string(m_.size()) + " moments for " +
                         std::to_string(parameters.count()) + " parameters");
    ++steps_;
    const Kernels<Scalar>& kernel = kernels<Scalar>();
    AdamwArguments<Scalar> arguments;
    arguments.gradient_factor = static_cast<Scalar>(gradient_factor);
    arguments.beta1 = static_cast<Scalar>(settings.beta1);
    arguments.beta2 = static_cast<Scalar>(settings.beta2);
    arguments.rate = static_cast<Scalar>(rate / (1 - std::pow(settings.beta1, static_cast<double>(steps_))));
    arguments.root_correction = static_cast<Scalar>(1 / std::sqrt(1 - std::pow(settings.beta2, static_cast<double>(steps_))));
    arguments.eps = static_cast<Scalar>(settings.eps);
    for (const ParameterInfo& info : parameters.layout().entries()) {
        const bool decays = info.decayed || settings.decay_everything;
        arguments.decay = decays ? static_cast<Scalar>(1 - rate * settings.weight_decay) : Scalar{1};
        constexpr std::int64_t kGrain = 64, kCost = 4;
        parallel_ranges(info.shape.count(), kGrain, kCost, [&](std::int64_t first, std::int64_t last) {
            const std::int64_t at = info.offset + first;
            kernel.adamw(arguments, last - first, gradients.data() + at, parameters.data() + at, m_.data() + at, v_.data() + at);
        });
    }
}

template <class Scalar>
double gradient_norm(const Parameters<Scalar>& gradients) {
    // Summed in a fixed number of runs, so that the result does not depend on the number of threads.
    constexpr std::int64_t kRuns = 64;
    const Kernels<Scalar>& kernel = kernels<Scalar>();
    std::array<double, kRuns> sums{};
    parallel_for(kRuns, gradients.count() / kRuns, [&](std::int64_t run) {
        const std::int64_t first = run * gradients.count() / kRuns, last = (run + 1) * gradients.count() / kRuns;
        sums[static_cast<std::size_t>(run)] = kernel.sum_of_squares(gradients.data() + first, last - first);
    });
    double total = 0;
    for (const double sum : sums) total += sum;
    return std::sqrt(total);
}

double clip_factor(double norm, double limit) {
    if (!(limit >= 0)) throw ConfigError("gradients cannot be clipped at " + std::to_string(limit) + "; expected 0 (off) or more");
    return limit == 0 ? 1 : std::min(1.0, limit / (norm + 1e-6));
}

template class Adamw<float>;
template class Adamw<double>;
template double gradient_norm<float>(const Parameters<float>&);
template double gradient_norm<double>(const Parameters<double>&);

}  // namespace attn
