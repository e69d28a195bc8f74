#include "engine/ops/linear.hpp"

#include "engine/model/steps/steps.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/elementwise.hpp"

namespace attn {
namespace {

/// Shape of the result: the rows of x with the map's number of columns.
template <class Scalar>
Shape shape_after(const Node<Scalar>& node, const Tensor<Scalar>& x) {
    return {x.shape()[0], x.shape()[1], {node.plan->axes.back(), node.weight.columns}};
}

template <class Scalar>
void apply_map(Program<Scalar>& program, std::size_t place, Tensor<Scalar>& out, const Scalar* plus) {
    const Node<Scalar>& node = program.node(place);
    const Tensor<Scalar>& x = program.input(place);
    out.resize(shape_after(node, x));
    linear(x.data(), rows_of(x), node.weight, node.bias, out.data(), plus, node.packed.data);
}

template <class Scalar>
void linear_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    apply_map<Scalar>(program, step.first, program.value(step.first), nullptr);
}

template <class Scalar>
void linear_backward_step(Program<Scalar>& program, const Step<Scalar>& step) {
    map_backward(program, step.first, program.gradient(step.first));
}

template <class Scalar>
void forward_and_add(Program<Scalar>& program, const Step<Scalar>& step) {
    const std::size_t sum = step.last();
    const Tensor<Scalar>& x = program.input(sum);
    Tensor<Scalar>& out = program.value(sum);
    const DropoutPattern pattern = residual_dropout(program, sum, x.shape());
    apply_map(program, step.first, out, pattern.rate() == 0 ? x.data() : nullptr);
    if (pattern.rate() > 0) add_dropped(pattern, x, out);
}

template <class Scalar>
void backward_and_add(Program<Scalar>& program, const Step<Scalar>& step) {
    const std::size_t sum = step.last();
    map_backward(program, step.first, dropped_gradient(program, step.first, sum));
    program.pass_on(sum, program.node(sum).inputs[0]);
}

}  // namespace

template <class Scalar>
void map_backward(Program<Scalar>& program, std::size_t place, const Tensor<Scalar>& dy, const Scalar* times) {
    const Node<Scalar>& node = program.node(place);
    const Tensor<Scalar>& x = program.input(place);
    const WeightGradient<Scalar> dweight{program.dweight(place), node.dweight.stride(), node.plan->weight.transposed,
                                         program.setting().fresh && !node.plan->weight.transposed};
    program.contribute(node.inputs[0], [&](Tensor<Scalar>& dx) {
        dx.resize(x.shape());
        linear_backward<Scalar>(dy.data(), x.data(), rows_of(x), node.weight, dx.data(), dweight, program.dbias(place),
                                {.packed_across = node.packed.across, .times = times});
    });
}

template <class Scalar>
void add_dropped(const DropoutPattern& pattern, const Tensor<Scalar>& x, Tensor<Scalar>& out) {
    dropout(pattern, out.data(), out.size(), out.data());
    add(x.data(), out.data(), out.size(), out.data());
}

template <class Scalar>
const Tensor<Scalar>& dropped_gradient(Program<Scalar>& program, std::size_t place, std::size_t sum) {
    const Tensor<Scalar>& dsum = program.gradient(sum);
    const DropoutPattern pattern = residual_dropout(program, sum, dsum.shape());
    if (pattern.rate() == 0) return dsum;
    Tensor<Scalar>& dropped = program.gradient(place);
    dropped.resize(dsum.shape());
    dropout(pattern, dsum.data(), dsum.size(), dropped.data());
    return dropped;
}

template <class Scalar>
StepFunctions<Scalar> linear_step() {
    return {&linear_forward<Scalar>, &linear_backward_step<Scalar>};
}
template <class Scalar>
StepFunctions<Scalar> linear_and_add_step() {
    return {&forward_and_add<Scalar>, &backward_and_add<Scalar>};
}

#define ATTN_INSTANTIATE(Scalar)                                                                                                           \
    template void map_backward<Scalar>(Program<Scalar>&, std::size_t, const Tensor<Scalar>&, const Scalar*);                               \
    template void add_dropped<Scalar>(const DropoutPattern&, const Tensor<Scalar>&, Tensor<Scalar>&);                                      \
    template const Tensor<Scalar>& dropped_gradient<Scalar>(Program<Scalar>&, std::size_t, std::size_t);                                   \
    template StepFunctions<Scalar> linear_step<Scalar>();                                                                                  \
    template StepFunctions<Scalar> linear_and_add_step<Scalar>();
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn
