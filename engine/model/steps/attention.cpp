#include <algorithm>

#include "engine/attention/fused_attention.hpp"
#include "engine/attention/multi_head.hpp"
#include "engine/attention/scaled_dot_product.hpp"
#include "engine/model/steps/steps.hpp"

namespace attn {
namespace {

/// Sizes of an attention, from the queries' shape [B,H,T,...] and that of the keys or values [B,G,S,D].
AttentionSizes attention_sizes_of(const Shape& queries, const Shape& keys) {
    const std::int64_t size = keys[3].size;
    return {queries[0].size, queries[1].size, queries[2].size, keys[2].size, size, size, keys[1].size};
}

template <class Scalar>
void scores_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    const Tensor<Scalar>&q = program.input(step.first), &k = program.input(step.first, 1);
    const AttentionSizes sizes = attention_sizes_of(q.shape(), k.shape());
    require_mask_fits(*program.mask(step.first), sizes);
    attention_scores(q, k, sizes, program.value(step.first));
}

template <class Scalar>
void scores_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    const std::vector<std::size_t>& inputs = program.node(step.first).inputs;
    const Tensor<Scalar>&q = program.value(inputs[0]), &k = program.value(inputs[1]);
    program.contribute(inputs[0], [&](Tensor<Scalar>& dq) {
        program.contribute(inputs[1], [&](Tensor<Scalar>& dk) {
            attention_scores_backward(program.gradient(step.first), q, k, *program.mask(step.first),
                                      attention_sizes_of(q.shape(), k.shape()), dq, dk);
        });
    });
}

template <class Scalar>
void scale_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    scale_scores(program.input(step.first), program.node(step.first).plan->settings.factor, program.value(step.first));
}

template <class Scalar>
void scale_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    program.contribute(program.node(step.first).inputs[0], [&](Tensor<Scalar>& dx) {
        scale_scores(program.gradient(step.first), program.node(step.first).plan->settings.factor, dx);
    });
}

template <class Scalar>
void mask_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    const Tensor<Scalar>& scaled = program.input(step.first);
    mask_scores(scaled, *program.mask(step.first), map_sizes(scaled.shape()), program.value(step.first));
}

/// A masked cell's gradient is 0 already, so the rest is the identity.
template <class Scalar>
void mask_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    program.pass_on(step.first, program.node(step.first).inputs[0]);
}

template <class Scalar>
void softmax_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    const Tensor<Scalar>& masked = program.input(step.first);
    attention_weights(masked, *program.mask(step.first), program.settings().temperature, map_sizes(masked.shape()),
                      program.value(step.first));
}

template <class Scalar>
void softmax_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    const Mask& mask = *program.mask(step.first);
    const double temperature = program.settings().temperature;
    // Edits may have overwritten the softmax's result.
    const bool is_changed = program.setting().tap.edits(program.node(step.first).plan->id);
    Tensor<Scalar> again;
    if (is_changed) attention_weights(program.input(step.first), mask, temperature, map_sizes(program.input(step.first).shape()), again);
    const Tensor<Scalar>& weights = is_changed ? again : program.value(step.first);
    program.contribute(program.node(step.first).inputs[0], [&](Tensor<Scalar>& dmasked) {
        attention_weights_backward(program.gradient(step.first), weights, mask, temperature, map_sizes(weights.shape()), dmasked);
    });
}

template <class Scalar>
void dropout_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    drop_weights(program, step.first, program.settings().dropout.attention, program.input(step.first), program.value(step.first));
}

template <class Scalar>
void dropout_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    program.contribute(program.node(step.first).inputs[0], [&](Tensor<Scalar>& dx) {
        drop_weights(program, step.first, program.settings().dropout.attention, program.gradient(step.first), dx);
    });
}

template <class Scalar>
void mix_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    const Tensor<Scalar>&map = program.input(step.first), &v = program.input(step.first, 1);
    attention_context(map, v, *program.mask(step.first), attention_sizes_of(map.shape(), v.shape()), program.value(step.first));
}

template <class Scalar>
void mix_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    const std::vector<std::size_t>& inputs = program.node(step.first).inputs;
    const Tensor<Scalar>&map = program.value(inputs[0]), &v = program.value(inputs[1]);
    program.contribute(inputs[0], [&](Tensor<Scalar>& dmap) {
        program.contribute(inputs[1], [&](Tensor<Scalar>& dv) {
            attention_context_backward(program.gradient(step.first), map, v, *program.mask(step.first),
                                       attention_sizes_of(map.shape(), v.shape()), dmap, dv);
        });
    });
}

template <class Scalar>
void join_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    const Tensor<Scalar>& context = program.input(step.first);
    Tensor<Scalar>& concat = program.value(step.first);
    const Shape& shape = context.shape();
    concat.resize({shape[0], shape[2], {Axis::C, shape[1].size * shape[3].size}});
    join_heads<Scalar>(context, 0, concat);
}

template <class Scalar>
void join_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    const std::size_t input = program.node(step.first).inputs[0];
    const Shape& shape = program.value(input).shape();
    program.contribute(input, [&](Tensor<Scalar>& dcontext) {
        split_heads<Scalar>(program.gradient(step.first), {0, shape[1], shape[3].size, Axis::T}, dcontext);
    });
}

/// The attention rule that the nodes from the scores to the mask describe.
template <class Scalar>
AttentionRule rule_between(Program<Scalar>& program, std::size_t scores, std::size_t mask, const DropoutPattern& pattern) {
    AttentionRule rule{*program.mask(mask), program.node(scores + 1).plan->settings.factor, program.settings().temperature, pattern};
    for (std::size_t i = scores + 2; i < mask; ++i) {
        const PlanNode& node = *program.node(i).plan;
        if (node.op == Op::Cap) rule.cap = node.settings.cap;
        else rule.slopes = node.settings.slopes;
    }
    rule.first_position = program.first_position();
    rule.stop = program.setting().tap.stop();
    rule.progress = &program.setting().tap.progress();
    return rule;
}

template <class Scalar>
void attention_without_maps_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    const std::size_t mix = step.last(), mask = mix - 3;
    const Tensor<Scalar>&q = program.input(step.first), &k = program.input(step.first, 1), &v = program.input(mix, 1);
    const AttentionSizes sizes = attention_sizes(q, k, v);
    require_mask_fits(*program.mask(mask), sizes);
    Tensor<Scalar>& context = program.value(mix);
    context.resize(sizes.context_shape());
    const DropoutPattern none(0, 0, {});
    const auto heads = [](const Tensor<Scalar>& x) -> HeadsView<const Scalar> {
        const std::int64_t row = x.shape()[3].size, head = x.shape()[2].size * row;
        return {x.data(), x.shape()[1].size * head, head, row};
    };
    attention_without_maps<Scalar>(heads(q), heads(k), heads(v), rule_between(program, step.first, mask, none), sizes, program.heads(mix));
}

/// In fused form an attention is one step, and only these nodes have memory.
template <class Scalar>
struct FusedAttention {
    FusedAttention(Program<Scalar>& all, const Step<Scalar>& step)
        : program(all), scores(step.first), mask(step.last() - 4), weights(mask + 1), dropped(mask + 2), mix(mask + 3), concat(mask + 4),
          q(all.node(scores).inputs[0]), k(all.node(scores).inputs[1]),
          v(all.node(mix).inputs[1]), sizes{all.value(q).shape()[0].size, all.config().num_heads,
                                            all.value(q).shape()[1].size, all.first_position() + all.value(k).shape()[1].size,
                                            all.config().head_size(),     all.config().head_size(),
                                            all.config().kv_heads()},
          pattern(all.dropout(all.settings().dropout.attention, all.node(dropped).plan->dropout_site, sizes.map_shape())) {
        require_mask_fits(*all.mask(mask), sizes);
    }

    AttentionRule rule() const { return rule_between(program, scores, mask, pattern); }

    /// Keys and values of all positions attended to, including cached ones.
    struct Attended {
        HeadsView<const Scalar> keys, values;
    };
    Attended attended() const {
        const HeadsView<Scalar> keys = program.heads(k), values = program.heads(v);
        KeyValueCache<Scalar>* cache = program.setting().cache;
        if (cache == nullptr) return {keys, values};
        const int layer = program.node(scores).plan->id.layer;
        cache->put(layer, keys, values, program.value(k).shape()[1].size);
        return {cache->keys(layer), cache->values(layer)};
    }

    Program<Scalar>& program;
    std::size_t scores, mask, weights, dropped, mix, concat;
    std::size_t q, k, v;
    AttentionSizes sizes;
    DropoutPattern pattern;
};

template <class Scalar>
void fused_attention_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    const FusedAttention<Scalar> run(program, step);
    const Shape& rows = program.value(run.q).shape();
    program.value(run.concat).resize({rows[0], {Axis::T, rows[1].size}, {Axis::C, program.config().attention_width()}});
    const auto [keys, values] = run.attended();
    if (!program.keeps_maps() && run.pattern.rate() == 0)
        return fused_context<Scalar>(program.heads(run.q), keys, values, run.rule(), run.sizes, program.heads(run.concat));
    fused_attention<Scalar>(program.heads(run.q), keys, values, run.rule(), run.sizes, program.value(run.weights),
                            program.value(run.dropped), program.zeros(run.weights), program.heads(run.concat));
}

template <class Scalar>
void fused_attention_step_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    const FusedAttention<Scalar> run(program, step);
    for (const std::size_t place : {run.q, run.k, run.v}) program.begin_gradient(place);
    fused_attention_backward<Scalar>(program.gradient_heads(run.concat), program.heads(run.q), program.heads(run.k), program.heads(run.v),
                                     program.value(run.weights), program.value(run.dropped), run.rule(), run.sizes,
                                     {program.gradient_heads(run.q), program.gradient_heads(run.k), program.gradient_heads(run.v)});
}

}  // namespace

template <class Scalar>
StepFunctions<Scalar> scores_step() {
    return {&scores_forward<Scalar>, &scores_backward<Scalar>};
}
template <class Scalar>
StepFunctions<Scalar> scale_step() {
    return {&scale_forward<Scalar>, &scale_backward<Scalar>};
}
template <class Scalar>
StepFunctions<Scalar> mask_step() {
    return {&mask_forward<Scalar>, &mask_backward<Scalar>};
}
template <class Scalar>
StepFunctions<Scalar> softmax_step() {
    return {&softmax_forward<Scalar>, &softmax_backward<Scalar>};
}
template <class Scalar>
StepFunctions<Scalar> dropout_step() {
    return {&dropout_forward<Scalar>, &dropout_backward<Scalar>};
}
template <class Scalar>
StepFunctions<Scalar> mix_step() {
    return {&mix_forward<Scalar>, &mix_backward<Scalar>};
}
template <class Scalar>
StepFunctions<Scalar> join_heads_step() {
    return {&join_forward<Scalar>, &join_backward<Scalar>};
}
template <class Scalar>
StepFunctions<Scalar> fused_attention_step() {
    return {&fused_attention_forward<Scalar>, &fused_attention_step_backward<Scalar>};
}

template <class Scalar>
StepFunctions<Scalar> attention_without_maps_step() {
    return {&attention_without_maps_forward<Scalar>, nullptr};
}

#define ATTN_INSTANTIATE(Scalar)                                                                                                           \
    template StepFunctions<Scalar> scores_step<Scalar>();                                                                                  \
    template StepFunctions<Scalar> scale_step<Scalar>();                                                                                   \
    template StepFunctions<Scalar> mask_step<Scalar>();                                                                                    \
    template StepFunctions<Scalar> softmax_step<Scalar>();                                                                                 \
    template StepFunctions<Scalar> dropout_step<Scalar>();                                                                                 \
    template StepFunctions<Scalar> mix_step<Scalar>();                                                                                     \
    template StepFunctions<Scalar> join_heads_step<Scalar>();                                                                              \
    template StepFunctions<Scalar> attention_without_maps_step<Scalar>();                                                                  \
    template StepFunctions<Scalar> fused_attention_step<Scalar>();
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn
