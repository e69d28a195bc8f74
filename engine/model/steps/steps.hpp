#pragma once
/// The functions that compute a program's steps, forward and backward: a pair for every operation, and one for every run of operations that
/// is fused.

#include "engine/attention/multi_head.hpp"
#include "engine/attention/scaled_dot_product.hpp"
#include "engine/model/program.hpp"

namespace attn {

template <class Scalar>
struct StepFunctions {
    void (*forward)(Program<Scalar>&, const Step<Scalar>&) = nullptr;
    void (*backward)(Program<Scalar>&, const Step<Scalar>&) = nullptr;
};

/// The step that begins at a node, with as many nodes as can be computed together.
template <class Scalar>
Step<Scalar> next_step(const Program<Scalar>& program, std::size_t first);

// Single nodes.
template <class Scalar>
StepFunctions<Scalar> tokens_step();
template <class Scalar>
StepFunctions<Scalar> embed_step();
template <class Scalar>
StepFunctions<Scalar> positions_step();
template <class Scalar>
StepFunctions<Scalar> segments_step();
template <class Scalar>
StepFunctions<Scalar> add_step();
template <class Scalar>
StepFunctions<Scalar> norm_step();
template <class Scalar>
StepFunctions<Scalar> linear_step();
template <class Scalar>
StepFunctions<Scalar> rotate_step();
template <class Scalar>
StepFunctions<Scalar> scores_step();
template <class Scalar>
StepFunctions<Scalar> scale_step();
template <class Scalar>
StepFunctions<Scalar> cap_step();
template <class Scalar>
StepFunctions<Scalar> bias_step();
template <class Scalar>
StepFunctions<Scalar> mask_step();
template <class Scalar>
StepFunctions<Scalar> softmax_step();
template <class Scalar>
StepFunctions<Scalar> dropout_step();
template <class Scalar>
StepFunctions<Scalar> mix_step();
template <class Scalar>
StepFunctions<Scalar> join_heads_step();
template <class Scalar>
StepFunctions<Scalar> activate_step();
template <class Scalar>
StepFunctions<Scalar> multiply_step();
template <class Scalar>
StepFunctions<Scalar> probabilities_step();

// What mistakes put in their place: mistakes.cpp.
template <class Scalar>
StepFunctions<Scalar> pass_on_step();
template <class Scalar>
StepFunctions<Scalar> linear_by_reshape_step();
template <class Scalar>
StepFunctions<Scalar> softmax_over_queries_step();
template <class Scalar>
StepFunctions<Scalar> softmax_then_mask_step();
template <class Scalar>
StepFunctions<Scalar> dropout_left_on_step();
template <class Scalar>
StepFunctions<Scalar> join_by_reshape_step();

// Runs of nodes.
/// Linear maps into heads whose parameters are adjacent: one product.
template <class Scalar>
StepFunctions<Scalar> projection_step();
/// From tokens to embedding.
template <class Scalar>
StepFunctions<Scalar> fused_embedding_step();
/// From scores to concat.
template <class Scalar>
StepFunctions<Scalar> fused_attention_step();
/// From scores to context; only the context is kept. Has no backward step.
template <class Scalar>
StepFunctions<Scalar> attention_without_maps_step();
/// A linear map and the residual it is added to.
template <class Scalar>
StepFunctions<Scalar> linear_and_add_step();
/// A feed-forward block, gated or not, and the residual it is added to, if there is one.
template <class Scalar>
StepFunctions<Scalar> fused_feed_forward_step();

/// Gradients of the linear map at `place` (or the maps it stands for): of its parameters, and of its input, which is multiplied
/// element-wise by `times` unless that is null.
template <class Scalar>
void map_backward(Program<Scalar>& program, std::size_t place, const Tensor<Scalar>& dy, const Scalar* times = nullptr);

/// out = x + dropout(out)
template <class Scalar>
void add_dropped(const DropoutPattern& pattern, const Tensor<Scalar>& x, Tensor<Scalar>& out);
/// The gradient of the output of the map at `place`, given that of the sum to which its dropped-out copy was added.
template <class Scalar>
const Tensor<Scalar>& dropped_gradient(Program<Scalar>& program, std::size_t place, std::size_t sum);

/// The dropout that a residual addition applies to the sublayer's output.
template <class Scalar>
DropoutPattern residual_dropout(const Program<Scalar>& program, std::size_t add, const Shape& shape) {
    return program.dropout(program.settings().dropout.residual, program.node(add).plan->dropout_site, shape);
}

/// Dropout of the weights at `place`, or of their gradient.
template <class Scalar>
void drop_weights(const Program<Scalar>& program, std::size_t place, double rate, const Tensor<Scalar>& from, Tensor<Scalar>& to) {
    const DropoutPattern pattern = program.dropout(rate, program.node(place).plan->dropout_site, from.shape());
    to.resize(from.shape());
    dropout(pattern, from.data(), from.size(), to.data());
}

/// Which columns of the product at `place`, perhaps of several maps, are its heads.
template <class Scalar>
HeadCut head_cut(const Program<Scalar>& program, std::size_t place) {
    const Node<Scalar>& node = program.node(place);
    const std::int64_t size = program.config().head_size();
    return {node.first_column, {node.plan->axes[1], node.columns / size}, size, node.plan->axes[2]};
}

/// Sizes of an attention from a map [B,H,T,S]; head sizes are 0.
inline AttentionSizes map_sizes(const Shape& map) { return {map[0].size, map[1].size, map[2].size, map[3].size, 0, 0}; }

/// Number of rows of a tensor [B,P,...].
template <class Scalar>
std::int64_t rows_of(const Tensor<Scalar>& x) {
    return x.shape()[0].size * x.shape()[1].size;
}

}  // namespace attn
