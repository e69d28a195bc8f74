/// What may happen to scores between their scale and the mask, and to logits.

#include <algorithm>
#include <cmath>

#include "engine/model/steps/steps.hpp"
#include "engine/ops/parallel.hpp"

namespace attn {
namespace {

/// Calls bend(row, i, n) for parts of n numbers from number i on.
template <class Function>
void for_parts(std::int64_t size, const Function& bend) {
    constexpr std::int64_t kPart = 4096, kCost = 20;
    parallel_for((size + kPart - 1) / kPart, kPart * kCost,
                 [&](std::int64_t part) { bend(part * kPart, std::min(kPart, size - part * kPart)); });
}

template <class Scalar>
void cap_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    const Tensor<Scalar>& x = program.input(step.first);
    Tensor<Scalar>& out = program.value(step.first);
    out.resize(x.shape());
    const auto cap = static_cast<Scalar>(program.node(step.first).plan->settings.cap);
    for_parts(x.size(), [&](std::int64_t first, std::int64_t n) {
        for (std::int64_t i = first; i < first + n; ++i) out.data()[i] = cap * std::tanh(x.data()[i] / cap);
    });
}

/// 1 - tanh^2
template <class Scalar>
void cap_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    const Tensor<Scalar>&x = program.input(step.first), &dy = program.gradient(step.first);
    const auto cap = static_cast<Scalar>(program.node(step.first).plan->settings.cap);
    program.contribute(program.node(step.first).inputs[0], [&](Tensor<Scalar>& dx) {
        dx.resize(x.shape());
        for_parts(x.size(), [&](std::int64_t first, std::int64_t n) {
            for (std::int64_t i = first; i < first + n; ++i) {
                const Scalar bent = std::tanh(x.data()[i] / cap);
                dx.data()[i] = dy.data()[i] * (1 - bent * bent);
            }
        });
    });
}

template <class Scalar>
void bias_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    const Tensor<Scalar>& x = program.input(step.first);
    Tensor<Scalar>& out = program.value(step.first);
    out.resize(x.shape());
    const std::vector<double>& slopes = program.node(step.first).plan->settings.slopes;
    const std::int64_t heads = x.shape()[1].size, queries = x.shape()[2].size, keys = x.shape()[3].size;
    parallel_for(x.shape()[0].size * heads, queries * keys, [&](std::int64_t bh) {
        const double slope = slopes[static_cast<std::size_t>(bh % heads)];
        for (std::int64_t t = 0; t < queries; ++t)
            for (std::int64_t s = 0; s < keys; ++s) {
                const std::int64_t cell = (bh * queries + t) * keys + s, distance = program.first_position() + t - s;
                out.data()[cell] = x.data()[cell] - static_cast<Scalar>(slope * static_cast<double>(distance));
            }
    });
}

template <class Scalar>
void bias_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    program.pass_on(step.first, program.node(step.first).inputs[0]);
}

}  // namespace

template <class Scalar>
StepFunctions<Scalar> cap_step() {
    return {&cap_forward<Scalar>, &cap_backward<Scalar>};
}
template <class Scalar>
StepFunctions<Scalar> bias_step() {
    return {&bias_forward<Scalar>, &bias_backward<Scalar>};
}
template StepFunctions<float> cap_step();
template StepFunctions<double> cap_step();
template StepFunctions<float> bias_step();
template StepFunctions<double> bias_step();

}  // namespace attn
