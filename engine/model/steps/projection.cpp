#include "engine/attention/multi_head.hpp"
#include "engine/model/steps/steps.hpp"
#include "engine/ops/linear.hpp"

namespace attn {
namespace {

/// In fused form the rows stay packed, and readers find their heads in them.
template <class Scalar>
void projection_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    const Node<Scalar>& all = program.node(step.first);
    const Tensor<Scalar>& x = program.input(step.first);
    Tensor<Scalar>& packed = program.fused() ? program.value(step.first) : program.packed_rows();
    packed.resize({x.shape()[0], x.shape()[1], {Axis::N, all.weight.columns}});
    linear<Scalar>(x.data(), rows_of(x), all.weight, all.bias, packed.data(), nullptr, all.packed.data);
    if (program.fused()) return;
    for (std::size_t i = step.first; i <= step.last(); ++i) split_heads<Scalar>(packed, head_cut(program, i), program.value(i));
}

template <class Scalar>
void projection_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    if (program.fused()) return map_backward(program, step.first, program.gradient(step.first));
    const Tensor<Scalar>& x = program.input(step.first);
    Tensor<Scalar>& packed = program.packed_rows();
    packed.resize({x.shape()[0], x.shape()[1], {Axis::N, program.node(step.first).weight.columns}});
    for (std::size_t i = step.first; i <= step.last(); ++i) join_heads<Scalar>(program.gradient(i), program.node(i).first_column, packed);
    map_backward(program, step.first, packed);
}

}  // namespace

template <class Scalar>
StepFunctions<Scalar> projection_step() {
    return {&projection_forward<Scalar>, &projection_backward<Scalar>};
}
template StepFunctions<float> projection_step();
template StepFunctions<double> projection_step();

}  // namespace attn
