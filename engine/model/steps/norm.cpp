#include <algorithm>

#include "engine/model/steps/steps.hpp"
#include "engine/ops/elementwise.hpp"
#include "engine/ops/norm.hpp"

namespace attn {
namespace {

template <class Scalar>
void norm_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    const Node<Scalar>& node = program.node(step.first);
    const OpSettings& settings = node.plan->settings;
    const Tensor<Scalar>& x = program.input(step.first);
    const Shape& shape = x.shape();
    Tensor<Scalar>& out = program.value(step.first);
    out.resize(shape);
    if (settings.passes_on) {
        std::copy(x.values().begin(), x.values().end(), out.data());
        return;
    }
    auto& [mean, rstd] = program.statistics(step.first);
    rstd.resize({shape[0], shape[1]});
    if (settings.norm_kind == NormKind::Rms)
        return rms_norm(x.data(), rows_of(x), shape[2].size, node.gain, settings.eps, out.data(), rstd.data());
    mean.resize({shape[0], shape[1]});
    layer_norm(x.data(), rows_of(x), shape[2].size, node.gain, node.bias, settings.eps, out.data(), mean.data(), rstd.data());
}

template <class Scalar>
void norm_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    const Node<Scalar>& node = program.node(step.first);
    const OpSettings& settings = node.plan->settings;
    const std::size_t input = node.inputs[0];
    const Tensor<Scalar>&dy = program.gradient(step.first), &x = program.value(input);
    if (settings.passes_on) return program.pass_on(step.first, input);
    // What the stream has already of its gradient is added by the way.
    const bool adds = program.has_gradient(input);
    Tensor<Scalar>& dx = program.begin_gradient(input);
    const auto& [mean, rstd] = program.statistics(step.first);
    const NormGradients<Scalar> out{dx.data(), program.dweight(step.first), program.dbias(step.first), adds ? dx.data() : nullptr};
    const std::int64_t width = x.shape()[2].size;
    if (settings.norm_kind == NormKind::Rms) rms_norm_backward(dy.data(), x.data(), rows_of(x), width, node.gain, rstd.data(), out);
    else layer_norm_backward(dy.data(), x.data(), rows_of(x), width, node.gain, mean.data(), rstd.data(), out);
}

}  // namespace

template <class Scalar>
StepFunctions<Scalar> norm_step() {
    return {&norm_forward<Scalar>, &norm_backward<Scalar>};
}
template StepFunctions<float> norm_step();
template StepFunctions<double> norm_step();

}  // namespace attn
