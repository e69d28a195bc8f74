/// What mistakes made on purpose compute instead of the right operation.

#include <algorithm>

#include "engine/attention/softmax_over_queries.hpp"
#include "engine/model/steps/steps.hpp"
#include "engine/ops/linear.hpp"
#include "engine/plan/mistake.hpp"

namespace attn {
namespace {

template <class Scalar>
void pass_on_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    const Tensor<Scalar>& x = program.input(step.first);
    Tensor<Scalar>& out = program.value(step.first);
    if (&x == &out) return;
    out.resize(x.shape());
    std::copy(x.values().begin(), x.values().end(), out.data());
}

template <class Scalar>
void pass_on_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    program.pass_on(step.first, program.node(step.first).inputs[0]);
}

template <class Scalar>
void linear_by_reshape_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    const Node<Scalar>& node = program.node(step.first);
    const Tensor<Scalar>& x = program.input(step.first);
    Tensor<Scalar>& packed = program.packed_rows();
    packed.resize({x.shape()[0], x.shape()[1], {Axis::N, node.columns}});
    linear<Scalar>(x.data(), rows_of(x), node.weight, node.bias, packed.data());
    split_heads_by_reshape<Scalar>(packed, head_cut(program, step.first), program.value(step.first));
}

template <class Scalar>
void linear_by_reshape_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    const Tensor<Scalar>& x = program.input(step.first);
    Tensor<Scalar>& packed = program.packed_rows();
    packed.resize({x.shape()[0], x.shape()[1], {Axis::N, program.node(step.first).columns}});
    join_heads_by_reshape<Scalar>(program.gradient(step.first), 0, packed);
    map_backward(program, step.first, packed);
}

template <class Scalar>
void softmax_over_queries_of(Program<Scalar>& program, std::size_t place, Tensor<Scalar>& weights) {
    const Tensor<Scalar>& masked = program.input(place);
    softmax_over_queries(masked, *program.mask(place), program.settings().temperature, map_sizes(masked.shape()), weights);
}

template <class Scalar>
void softmax_over_queries_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    softmax_over_queries_of(program, step.first, program.value(step.first));
}

template <class Scalar>
void softmax_over_queries_step_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    // Edits may have overwritten the softmax's result.
    const bool is_changed = program.setting().tap.edits(program.node(step.first).plan->id);
    Tensor<Scalar> again;
    if (is_changed) softmax_over_queries_of(program, step.first, again);
    const Tensor<Scalar>& weights = is_changed ? again : program.value(step.first);
    program.contribute(program.node(step.first).inputs[0], [&](Tensor<Scalar>& dmasked) {
        softmax_over_queries_backward(program.gradient(step.first), weights, *program.mask(step.first), program.settings().temperature,
                                      map_sizes(weights.shape()), dmasked);
    });
}

/// A mask of the same size that allows everything.
Mask everything_like(const Mask& mask) { return {mask.queries(), mask.keys()}; }

template <class Scalar>
void softmax_of_everything(Program<Scalar>& program, std::size_t place, Tensor<Scalar>& weights) {
    const Tensor<Scalar>& scores = program.input(place);
    attention_weights(scores, everything_like(*program.mask(place)), program.settings().temperature, map_sizes(scores.shape()), weights);
}

template <class Scalar>
void softmax_then_mask_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    Tensor<Scalar>& weights = program.value(step.first);
    softmax_of_everything(program, step.first, weights);
    const Mask& mask = *program.mask(step.first);
    const AttentionSizes sizes = map_sizes(weights.shape());
    Scalar* row = weights.data();
    for (std::int64_t b = 0; b < sizes.batches; ++b)
        for (std::int64_t h = 0; h < sizes.heads; ++h)
            for (std::int64_t t = 0; t < sizes.queries; ++t, row += sizes.keys)
                for (std::int64_t s = 0; s < sizes.keys; ++s)
                    if (!mask.may_attend(b, h, t, s)) row[s] = 0;
}

/// The recorded weights lack what the mask removed, so they are computed again.
template <class Scalar>
void softmax_then_mask_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    Tensor<Scalar> weights;
    softmax_of_everything(program, step.first, weights);
    program.contribute(program.node(step.first).inputs[0], [&](Tensor<Scalar>& dscores) {
        attention_weights_backward(program.gradient(step.first), weights, everything_like(*program.mask(step.first)),
                                   program.settings().temperature, map_sizes(weights.shape()), dscores);
    });
}

template <class Scalar>
double rate_left_on(const Program<Scalar>& program) {
    const double rate = program.settings().dropout.attention;
    return rate > 0 ? rate : kDropoutLeftOn;
}

template <class Scalar>
void dropout_left_on_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    drop_weights(program, step.first, rate_left_on(program), program.input(step.first), program.value(step.first));
}

template <class Scalar>
void dropout_left_on_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    program.contribute(program.node(step.first).inputs[0], [&](Tensor<Scalar>& dx) {
        drop_weights(program, step.first, rate_left_on(program), program.gradient(step.first), dx);
    });
}

template <class Scalar>
void join_by_reshape_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    const Tensor<Scalar>& context = program.input(step.first);
    const Shape& shape = context.shape();
    Tensor<Scalar>& concat = program.value(step.first);
    concat.resize({shape[0], shape[2], {Axis::C, shape[1].size * shape[3].size}});
    join_heads_by_reshape<Scalar>(context, 0, concat);
}

template <class Scalar>
void join_by_reshape_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    const std::size_t input = program.node(step.first).inputs[0];
    const Shape& shape = program.value(input).shape();
    program.contribute(input, [&](Tensor<Scalar>& dcontext) {
        split_heads_by_reshape<Scalar>(program.gradient(step.first), {0, shape[1], shape[3].size, Axis::T}, dcontext);
    });
}

}  // namespace

template <class Scalar>
StepFunctions<Scalar> pass_on_step() {
    return {&pass_on_forward<Scalar>, &pass_on_backward<Scalar>};
}
template <class Scalar>
StepFunctions<Scalar> linear_by_reshape_step() {
    return {&linear_by_reshape_forward<Scalar>, &linear_by_reshape_backward<Scalar>};
}
template <class Scalar>
StepFunctions<Scalar> softmax_over_queries_step() {
    return {&softmax_over_queries_forward<Scalar>, &softmax_over_queries_step_backward<Scalar>};
}
template <class Scalar>
StepFunctions<Scalar> softmax_then_mask_step() {
    return {&softmax_then_mask_forward<Scalar>, &softmax_then_mask_backward<Scalar>};
}
template <class Scalar>
StepFunctions<Scalar> dropout_left_on_step() {
    return {&dropout_left_on_forward<Scalar>, &dropout_left_on_backward<Scalar>};
}
template <class Scalar>
StepFunctions<Scalar> join_by_reshape_step() {
    return {&join_by_reshape_forward<Scalar>, &join_by_reshape_backward<Scalar>};
}

#define ATTN_INSTANTIATE(Scalar)                                                                                                           \
    template StepFunctions<Scalar> pass_on_step<Scalar>();                                                                                 \
    template StepFunctions<Scalar> linear_by_reshape_step<Scalar>();                                                                       \
    template StepFunctions<Scalar> softmax_over_queries_step<Scalar>();                                                                    \
    template StepFunctions<Scalar> softmax_then_mask_step<Scalar>();                                                                       \
    template StepFunctions<Scalar> dropout_left_on_step<Scalar>();                                                                         \
    template StepFunctions<Scalar> join_by_reshape_step<Scalar>();
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn
