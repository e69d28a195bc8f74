#include "engine/model/steps/steps.hpp"

namespace attn {
namespace {

/// Sizes of a node's heads, whose tensor may be packed rows with other heads.
template <class Scalar>
RotationSizes rotated_sizes(const Program<Scalar>& program, std::size_t place, const Shape& shape) {
    const bool queries = program.node(place).plan->axes[1] == Axis::H;
    const std::int64_t heads = queries ? program.config().num_heads : program.config().kv_heads();
    return {shape[0].size, heads, shape[shape.rank() == 4 ? 2 : 1].size, program.config().head_size(), program.first_position()};
}

template <class Scalar>
const RotationTable<Scalar>& table_for(Program<Scalar>& program, std::size_t place, const RotationSizes& sizes) {
    return program.rotation(place, sizes.first_position + sizes.positions);
}

/// In fused form input and result share memory and rotation works in place; nothing else reads the input.
template <class Scalar>
void rotate_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    const std::size_t input = program.node(step.first).inputs[0];
    program.value(step.first).resize(program.value(input).shape());
    const RotationSizes sizes = rotated_sizes(program, step.first, program.value(input).shape());
    rotate_heads<Scalar>(program.heads(input), sizes, table_for(program, step.first, sizes), false, program.heads(step.first));
}

template <class Scalar>
void rotate_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    const std::size_t input = program.node(step.first).inputs[0];
    const RotationSizes sizes = rotated_sizes(program, step.first, program.value(input).shape());
    program.contribute(input, [&](Tensor<Scalar>& dx) {
        dx.resize(program.value(input).shape());
        rotate_heads<Scalar>(program.gradient_heads(step.first), sizes, table_for(program, step.first, sizes), true,
                             program.heads_in(dx, input));
    });
}

}  // namespace

template <class Scalar>
StepFunctions<Scalar> rotate_step() {
    return {&rotate_forward<Scalar>, &rotate_backward<Scalar>};
}
template StepFunctions<float> rotate_step();
template StepFunctions<double> rotate_step();

}  // namespace attn
