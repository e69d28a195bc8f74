#include "engine/model/steps/steps.hpp"

#include <initializer_list>

namespace attn {
namespace {

template <class Scalar>
StepFunctions<Scalar> step_of(Op op) {
    switch (op) {
    case Op::Tokens:
        return tokens_step<Scalar>();
    case Op::Embed:
        return embed_step<Scalar>();
    case Op::Positions:
        return positions_step<Scalar>();
    case Op::Segments:
        return segments_step<Scalar>();
    case Op::Add:
        return add_step<Scalar>();
    case Op::Norm:
        return norm_step<Scalar>();
    case Op::Linear:
        return linear_step<Scalar>();
    case Op::Rotate:
        return rotate_step<Scalar>();
    case Op::Scores:
        return scores_step<Scalar>();
    case Op::Scale:
        return scale_step<Scalar>();
    case Op::Cap:
        return cap_step<Scalar>();
    case Op::Bias:
        return bias_step<Scalar>();
    case Op::Mask:
        return mask_step<Scalar>();
    case Op::Softmax:
        return softmax_step<Scalar>();
    case Op::Dropout:
        return dropout_step<Scalar>();
    case Op::Mix:
        return mix_step<Scalar>();
    case Op::JoinHeads:
        return join_heads_step<Scalar>();
    case Op::Activate:
        return activate_step<Scalar>();
    case Op::Multiply:
        return multiply_step<Scalar>();
    case Op::Probabilities:
        return probabilities_step<Scalar>();
    case Op::Given:
        break;  // nothing to compute it with
    case Op::PassOn:
        return pass_on_step<Scalar>();
    case Op::LinearByReshape:
        return linear_by_reshape_step<Scalar>();
    case Op::SoftmaxOverQueries:
        return softmax_over_queries_step<Scalar>();
    case Op::SoftmaxThenMask:
        return softmax_then_mask_step<Scalar>();
    case Op::DropoutLeftOn:
        return dropout_left_on_step<Scalar>();
    case Op::JoinByReshape:
        return join_by_reshape_step<Scalar>();
    }
    return {};
}

/// Finds runs of nodes from one node on that can be computed together.
template <class Scalar>
class Runs {
public:
    Runs(const Program<Scalar>& program, std::size_t first) : program_(program), first_(first) {}

    /// Number of adjacent maps from the first one on whose parameters form one matrix; 0 if the first is not a map into heads.
    std::size_t projection() const {
        if (!is_projection(first_)) return 0;
        std::size_t count = 1;
        MatrixView all = node(first_).weight;
        for (std::size_t i = first_ + 1; i < size() && is_projection(i) && continues(i, all); ++i, ++count)
            all.columns += node(i).weight.columns;
        return count;
    }

    std::size_t embedding() const {
        if (!follows({Op::Tokens, Op::Embed})) return 0;
        std::size_t add = first_ + 2;
        if (op(add) == Op::Positions) ++add;
        return op(add) == Op::Add ? add + 1 - first_ : 0;
    }

    std::size_t attention() const {
        if (!follows({Op::Scores, Op::Scale})) return 0;
        std::size_t mask = first_ + 2;
        while (op(mask) == Op::Cap || op(mask) == Op::Bias) ++mask;
        return follows(mask, {Op::Mask, Op::Softmax, Op::Dropout, Op::Mix, Op::JoinHeads}) ? mask + 5 - first_ : 0;
    }

    std::size_t linear_and_add() const { return op(first_) == Op::Linear && adds_to_stream(first_) ? 2 : 0; }

    std::size_t feed_forward() const {
        const bool gated = follows({Op::Linear, Op::Linear, Op::Activate, Op::Multiply, Op::Linear});
        if (!gated && !follows({Op::Linear, Op::Activate, Op::Linear})) return 0;
        const std::size_t count = gated ? 5 : 3;
        return count + (adds_to_stream(first_ + count - 1) ? 1 : 0);
    }

private:
    std::size_t size() const { return program_.plan().nodes().size(); }
    const Node<Scalar>& node(std::size_t i) const { return program_.node(i); }
    Op op(std::size_t i) const { return i < size() ? node(i).plan->op : Op::Tokens; }

    bool follows(std::initializer_list<Op> run) const { return follows(first_, run); }
    bool follows(std::size_t i, std::initializer_list<Op> run) const {
        for (const Op wanted : run)
            if (i >= size() || op(i++) != wanted) return false;
        return true;
    }
    bool is_projection(std::size_t i) const { return op(i) == Op::Linear && node(i).plan->has_heads(); }

    /// Whether map i reads the same input as the first one and its parameters, and gradients, directly follow `all`.
    bool continues(std::size_t i, const MatrixView& all) const {
        const Node<Scalar>&start = node(first_), &last = node(i - 1), &next = node(i);
        const bool biases = (next.bias == nullptr && start.bias == nullptr) ||
                            (next.bias != nullptr && start.bias != nullptr && next.bias == start.bias + all.columns);
        const bool gradients =
            next.dweight.whole == last.dweight.whole && next.dweight.first_column == last.dweight.first_column + last.dweight.columns;
        return next.inputs[0] == start.inputs[0] && all.is_followed_by(next.weight) && biases && gradients &&
               next.plan->settings == start.plan->settings;
    }

    /// Whether the next node adds this node's result to the residual stream.
    bool adds_to_stream(std::size_t i) const {
        if (op(i + 1) != Op::Add) return false;
        const Node<Scalar>& add = node(i + 1);
        return add.inputs.size() == 2 && add.inputs[1] == i && add.plan->dropout_site != add.plan->id;
    }

    const Program<Scalar>& program_;
    std::size_t first_;
};

}  // namespace

template <class Scalar>
Step<Scalar> next_step(const Program<Scalar>& program, std::size_t first) {
    const auto step = [&](const StepFunctions<Scalar>& functions, std::size_t count) {
        return Step<Scalar>{functions.forward, functions.backward, first, count};
    };
    const Runs<Scalar> runs(program, first);
    if (const std::size_t count = runs.projection()) return step(projection_step<Scalar>(), count);
    if (const std::size_t count = program.leaves_out_maps() ? runs.attention() : 0)
        return step(attention_without_maps_step<Scalar>(), count - 1);
    if (program.fused()) {
        if (const std::size_t count = runs.embedding()) return step(fused_embedding_step<Scalar>(), count);
        if (const std::size_t count = runs.attention()) return step(fused_attention_step<Scalar>(), count);
        if (const std::size_t count = runs.feed_forward()) return step(fused_feed_forward_step<Scalar>(), count);
        if (const std::size_t count = runs.linear_and_add()) return step(linear_and_add_step<Scalar>(), count);
    }
    return step(step_of<Scalar>(program.node(first).plan->op), 1);
}

template Step<float> next_step<float>(const Program<float>&, std::size_t);
template Step<double> next_step<double>(const Program<double>&, std::size_t);

}  // namespace attn
