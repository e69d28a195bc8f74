#include "engine/model/steps/steps.hpp"
#include "engine/ops/softmax.hpp"

namespace attn {
namespace {

/// Computed only if a tap is active, because no other node reads probabilities. Their gradient comes from the loss.
template <class Scalar>
void probabilities_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    if (!program.setting().tap.active()) return;
    const Tensor<Scalar>& logits = program.input(step.first);
    Tensor<Scalar>& out = program.value(step.first);
    out.resize(logits.shape());
    softmax(logits.data(), rows_of(logits), logits.shape()[2].size, out.data());
}

}  // namespace

template <class Scalar>
StepFunctions<Scalar> probabilities_step() {
    return {&probabilities_forward<Scalar>, nullptr};
}
template StepFunctions<float> probabilities_step();
template StepFunctions<double> probabilities_step();

}  // namespace attn
