#include <algorithm>

#include "engine/model/steps/steps.hpp"
#include "engine/ops/elementwise.hpp"

namespace attn {
namespace {

/// Whether dropout applies to the whole sum, as for the embedding; in a residual it applies to what is added to the stream.
template <class Scalar>
bool drops_whole(const Program<Scalar>& program, std::size_t place) {
    return program.node(place).plan->dropout_site == program.node(place).plan->id;
}

template <class Scalar>
DropoutPattern pattern_of(const Program<Scalar>& program, std::size_t place, const Shape& shape) {
    if (!drops_whole(program, place)) return residual_dropout(program, place, shape);
    return program.dropout(program.settings().dropout.embedding, program.node(place).plan->dropout_site, shape);
}

template <class Scalar>
void sum_inputs(Program<Scalar>& program, std::size_t place, Tensor<Scalar>& out) {
    const Tensor<Scalar>& first = program.input(place);
    if (program.node(place).inputs.size() == 1) std::copy(first.values().begin(), first.values().end(), out.data());
    else add(first.data(), program.input(place, 1).data(), out.size(), out.data());
    for (std::size_t i = 2; i < program.node(place).inputs.size(); ++i)
        add(out.data(), program.input(place, i).data(), out.size(), out.data());
}

template <class Scalar>
void add_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    const std::size_t place = step.first, parts = program.node(place).inputs.size();
    const Tensor<Scalar>& last = program.input(place, parts - 1);
    const DropoutPattern pattern = pattern_of(program, place, last.shape());
    Tensor<Scalar>& out = program.value(place);
    out.resize(last.shape());
    if (drops_whole(program, place) || pattern.rate() == 0) {
        sum_inputs(program, place, out);
        if (drops_whole(program, place)) dropout(pattern, out.data(), out.size(), out.data());
        return;
    }
    // The block's output stays as it is; a dropped-out copy is added to the stream.
    dropout(pattern, last.data(), last.size(), out.data());
    if (parts > 1) add(program.input(place).data(), out.data(), out.size(), out.data());
}

template <class Scalar>
void add_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    const std::size_t place = step.first;
    const std::vector<std::size_t>& inputs = program.node(place).inputs;
    const Tensor<Scalar>& dsum = program.gradient(place);
    const DropoutPattern pattern = pattern_of(program, place, dsum.shape());
    for (const std::size_t input : inputs) {
        const bool is_dropped = drops_whole(program, place) || input == inputs.back();
        if (!is_dropped) {
            program.pass_on(place, input);
            continue;
        }
        program.contribute(input, [&](Tensor<Scalar>& dx) {
            dx.resize(dsum.shape());
            dropout(pattern, dsum.data(), dsum.size(), dx.data());
        });
    }
}

}  // namespace

template <class Scalar>
StepFunctions<Scalar> add_step() {
    return {&add_forward<Scalar>, &add_backward<Scalar>};
}
template StepFunctions<float> add_step();
template StepFunctions<double> add_step();

}  // namespace attn
