#include <cmath>

#include "engine/attention/fused_attention.hpp"
#include "engine/attention/multi_head.hpp"
#include "engine/attention/softmax_over_queries.hpp"
#include "engine/model/block_end.hpp"
#include "engine/ops/elementwise.hpp"
#include "engine/ops/linear.hpp"

namespace attn {
namespace {

/// What forward and backward pass of one attention sub-layer, self or cross, have in common.
template <class Scalar>
class AttentionBlock {
public:
    AttentionBlock(const PassContext<Scalar>& context, const AttentionWeights<const Scalar>& weights, const Tensor<Scalar>& x,
                   const Tensor<Scalar>* memory, const std::shared_ptr<const Mask>& mask, const StageId& where)
        : context_(context), config_(context.config), weights_(weights), x_(x), memory_(memory), mask_(mask), where_(where) {
        require_mask_fits(*mask, sizes_);
    }

    void forward(AttentionActivations<Scalar>& a) const {
        if (pre_) norm_layer(context_, weights_.norm, x_, stage(Stage::Norm1), a.norm);
        project(pre_ ? a.norm.out : x_, a);
        if (by_stages()) attend_by_stages(a);
        else attend_fused(a);
        const bool direct = adds_directly(context_);
        if (config_.output_projection) {
            Tensor<Scalar>& out = direct ? a.residual : a.out;
            affine(a.concat, weights_.out, {Axis::C, config_.d_model}, out, direct ? x_.data() : nullptr);
            context_.tap(stage(Stage::AttentionOut), out);
        } else if (direct) {
            a.residual.resize(x_.shape());
            add(x_.data(), a.concat.data(), x_.size(), a.residual.data());
        }
        end_block<Scalar>(context_, weights_.norm, x_, end_stages(), {config_.output_projection ? a.out : a.concat, a.residual, a.norm});
    }

    void backward(const AttentionWeights<Scalar>& dweights, const AttentionActivations<Scalar>& a, AttentionActivations<Scalar>& g,
                  Tensor<Scalar>& dx, Tensor<Scalar>* dmemory) const {
        const bool projects = config_.output_projection;
        const auto [dsum, dout] = end_block_backward<Scalar>(context_, {weights_.norm, dweights.norm}, end_stages(),
                                                             {projects ? a.out : a.concat, a.residual, a.norm},
                                                             {projects ? g.out : g.concat, g.residual, g.norm});
        Tensor<Scalar>* dconcat = dout;
        if (projects) {
            context_.tap(stage(Stage::AttentionOut), *dout);
            g.concat.resize(a.concat.shape());
            linear_backward(dout->data(), a.concat.data(), rows(x_), width_, config_.d_model, weights_.out.weight, g.concat.data(),
                            dweights.out.weight, dweights.out.bias,
                            {.packed_across = weights_.out.packed_across, .replaces = context_.fresh});
            dconcat = &g.concat;
        }
        context_.tap(stage(Stage::Concat), *dconcat);
        g.packed.resize(a.packed.shape());
        if (memory_ != nullptr) g.packed_memory.resize(a.packed_memory.shape());
        if (by_stages()) attend_by_stages_backward(*dconcat, a, g);
        else attend_fused_backward(*dconcat, a, g);
        project_backward(dweights, *dsum, a, g, dx, dmemory);
    }

private:
    StageId stage(Stage self) const { return {memory_ != nullptr ? to_cross(self) : self, where_.layer, where_.stack}; }
    BlockEndStages end_stages() const { return {stage(Stage::AttentionOut), stage(Stage::Residual1), stage(Stage::Norm1)}; }
    static std::int64_t rows(const Tensor<Scalar>& x) { return x.shape()[0].size * x.shape()[1].size; }
    Mistake mistake() const { return context_.settings.mistake; }
    bool by_stages() const { return context_.tap.active() || needs_stages(mistake()); }
    double factor() const {
        const double size = static_cast<double>(size_);
        switch (mistake()) {
        case Mistake::NoScale:
            return 1;
        case Mistake::ScaleByModelWidth:
            return 1 / std::sqrt(static_cast<double>(config_.d_model));
        case Mistake::ScaledTwice:
            return 1 / size;
        default:
            return 1 / std::sqrt(size);
        }
    }
    DropoutPattern attention_dropout() const {
        return context_.dropout(context_.settings.dropout.attention, stage(Stage::Dropped), sizes_.heads * sizes_.queries * sizes_.keys);
    }

    void affine(const Tensor<Scalar>& x, const LinearWeights<const Scalar>& w, Dim out, Tensor<Scalar>& y,
                const Scalar* plus = nullptr) const {
        y.resize({x.shape()[0], x.shape()[1], out});
        linear(x.data(), rows(x), x.shape()[2].size, out.size, w.weight, w.bias, y.data(), plus, w.packed);
    }

    /// q from x; k and v from x too, or from the memory.
    void project(const Tensor<Scalar>& x, AttentionActivations<Scalar>& a) const {
        if (memory_ == nullptr) return affine(x, weights_.qkv, {Axis::N, 3 * width_}, a.packed);
        affine(x, weights_.q, {Axis::N, width_}, a.packed);
        affine(*memory_, weights_.kv, {Axis::N, 2 * width_}, a.packed_memory);
    }

    void project_backward(const AttentionWeights<Scalar>& dweights, const Tensor<Scalar>& dsum, const AttentionActivations<Scalar>& a,
                          AttentionActivations<Scalar>& g, Tensor<Scalar>& dx, Tensor<Scalar>* dmemory) const {
        const Tensor<Scalar>& in = pre_ ? a.norm.out : x_;
        Tensor<Scalar>& din = pre_ ? g.norm.out : dx;
        const LinearWeights<const Scalar>& w = memory_ == nullptr ? weights_.qkv : weights_.q;
        const LinearWeights<Scalar>& dw = memory_ == nullptr ? dweights.qkv : dweights.q;
        din.resize(x_.shape());
        linear_backward(g.packed.data(), in.data(), rows(x_), x_.shape()[2].size, a.packed.shape()[2].size, w.weight, din.data(), dw.weight,
                        dw.bias, {.packed_across = w.packed_across, .replaces = context_.fresh});
        if (memory_ != nullptr) {
            g.memory.resize(memory_->shape());
            linear_backward(g.packed_memory.data(), memory_->data(), rows(*memory_), memory_->shape()[2].size, 2 * width_,
                            weights_.kv.weight, g.memory.data(), dweights.kv.weight, dweights.kv.bias,
                            {.packed_across = weights_.kv.packed_across, .replaces = context_.fresh});
            add(dmemory->data(), g.memory.data(), dmemory->size(), dmemory->data());
        }
        if (pre_) {
            context_.tap(stage(Stage::Norm1), g.norm.out);
            norm_layer_backward<Scalar>(context_, {weights_.norm, dweights.norm}, x_, a.norm, g.norm,
                                        adds_to_stream(context_) ? &dsum : nullptr, dx);
        } else if (adds_to_stream(context_)) {
            add(dx.data(), dsum.data(), dx.size(), dx.data());
        }
    }

    void split(const Tensor<Scalar>& packed, std::int64_t first_column, Axis position, Stage shown, Tensor<Scalar>& out) const {
        const auto split_as = mistake() == Mistake::HeadsSplitWithoutTranspose ? &split_heads_by_reshape<Scalar> : &split_heads<Scalar>;
        split_as(packed, first_column, config_.num_heads, size_, position, out);
        context_.tap(stage(shown), out);
    }

    void attend_by_stages(AttentionActivations<Scalar>& a) const {
        const Tensor<Scalar>& packed_keys = memory_ == nullptr ? a.packed : a.packed_memory;
        split(a.packed, 0, Axis::T, Stage::Q, a.q);
        split(packed_keys, first_key_, Axis::S, Stage::K, a.k);
        split(packed_keys, first_key_ + width_, Axis::S, Stage::V, a.v);
        const auto [keys, values] = keys_and_values(a);
        attention_scores(a.q, *keys, sizes_, a.scores);
        context_.tap(stage(Stage::Scores), a.scores);
        scale_scores(a.scores, factor(), a.scaled);
        context_.tap(stage(Stage::Scaled), a.scaled);
        mask_scores(a.scaled, *score_mask_, sizes_, a.masked);
        context_.tap(stage(Stage::Masked), a.masked, score_mask_);
        a.weights_zeros.forget();
        weigh(a.masked, a.weights);
        if (score_mask_ != mask_) zero_masked(a.weights);
        context_.tap(stage(Stage::Weights), a.weights, mask_);
        a.dropped.resize(a.weights.shape());
        dropout(attention_dropout(), a.weights.data(), a.weights.size(), a.dropped.data());
        context_.tap(stage(Stage::Dropped), a.dropped, mask_);
        attention_context(a.dropped, *values, *mask_, sizes_, a.context);
        context_.tap(stage(Stage::Context), a.context);
        if (joins_by_reshape()) {
            a.concat.resize({x_.shape()[0], x_.shape()[1], {Axis::C, width_}});
            join_heads_by_reshape(a.context, 0, a.concat);
        } else {
            concat_heads(a.context, a.concat);
        }
        context_.tap(stage(Stage::Concat), a.concat);
    }

    /// The softmax as it came out: edits, or a mask that comes after it, may have put other numbers in its place.
    const Tensor<Scalar>& computed_weights(const AttentionActivations<Scalar>& a, Tensor<Scalar>& scratch) const {
        if (!context_.tap.edits(stage(Stage::Weights)) && score_mask_ == mask_) return a.weights;
        weigh(a.masked, scratch);
        return scratch;
    }

    void attend_by_stages_backward(const Tensor<Scalar>& dconcat, const AttentionActivations<Scalar>& a,
                                   AttentionActivations<Scalar>& g) const {
        const auto split_context = joins_by_reshape() ? &split_heads_by_reshape<Scalar> : &split_heads<Scalar>;
        split_context(dconcat, 0, config_.num_heads, size_, Axis::T, g.context);
        context_.tap(stage(Stage::Context), g.context);
        const auto [keys, values] = keys_and_values(a);
        const auto [dkeys, dvalues] = keys_and_values(g);
        attention_context_backward(g.context, a.dropped, *values, *mask_, sizes_, g.dropped, *dvalues);
        context_.tap(stage(Stage::Dropped), g.dropped, mask_);
        g.weights.resize(a.weights.shape());
        dropout(attention_dropout(), g.dropped.data(), g.dropped.size(), g.weights.data());
        context_.tap(stage(Stage::Weights), g.weights, mask_);
        weigh_backward(a, g);
        context_.tap(stage(Stage::Masked), g.masked, score_mask_);
        // A masked cell's gradient is 0 already, so what is left of masking is the identity.
        g.scaled = g.masked;
        context_.tap(stage(Stage::Scaled), g.scaled);
        scale_scores(g.scaled, factor(), g.scores);
        context_.tap(stage(Stage::Scores), g.scores);
        attention_scores_backward(g.scores, a.q, *keys, *score_mask_, sizes_, g.q, *dkeys);
        context_.tap(stage(Stage::V), g.v);
        context_.tap(stage(Stage::K), g.k);
        context_.tap(stage(Stage::Q), g.q);
        Tensor<Scalar>& packed_keys = memory_ == nullptr ? g.packed : g.packed_memory;
        const auto join = mistake() == Mistake::HeadsSplitWithoutTranspose ? &join_heads_by_reshape<Scalar> : &join_heads<Scalar>;
        join(g.q, 0, g.packed);
        join(g.k, first_key_, packed_keys);
        join(g.v, first_key_ + width_, packed_keys);
    }

    bool joins_by_reshape() const { return mistake() == Mistake::HeadsJoinedWithoutTranspose; }
    bool swapped() const { return mistake() == Mistake::KeysValuesSwapped; }

    /// What stands in for the keys, and what for the values.
    template <class A>
    auto keys_and_values(A& a) const {
        return swapped() ? std::pair{&a.v, &a.k} : std::pair{&a.k, &a.v};
    }

    void weigh(const Tensor<Scalar>& masked, Tensor<Scalar>& weights) const {
        const auto normalize = mistake() == Mistake::SoftmaxOverQueries ? &softmax_over_queries<Scalar> : &attention_weights<Scalar>;
        normalize(masked, *score_mask_, context_.settings.temperature, sizes_, weights);
    }

    void weigh_backward(const AttentionActivations<Scalar>& a, AttentionActivations<Scalar>& g) const {
        Tensor<Scalar> scratch;
        const Tensor<Scalar>& computed = computed_weights(a, scratch);
        const auto backward =
            mistake() == Mistake::SoftmaxOverQueries ? &softmax_over_queries_backward<Scalar> : &attention_weights_backward<Scalar>;
        backward(g.weights, computed, *score_mask_, context_.settings.temperature, sizes_, g.masked);
    }

    void zero_masked(Tensor<Scalar>& map) const {
        Scalar* row = map.data();
        for (std::int64_t b = 0; b < sizes_.batches; ++b)
            for (std::int64_t h = 0; h < sizes_.heads; ++h)
                for (std::int64_t t = 0; t < sizes_.queries; ++t, row += sizes_.keys)
                    for (std::int64_t s = 0; s < sizes_.keys; ++s)
                        if (!mask_->may_attend(b, h, t, s)) row[s] = 0;
    }

    /// Heads of packed rows [B,P,N] from a column on.
    template <class Value, class Packed>
    HeadsView<Value> heads(Packed& packed, std::int64_t first_column) const {
        const std::int64_t positions = packed.shape()[1].size, columns = packed.shape()[2].size;
        return {packed.empty() ? nullptr : packed.data() + first_column, positions * columns, size_, columns};
    }

    template <class Value, class A>
    std::array<HeadsView<Value>, 3> q_k_v(A& a) const {
        auto& keys = memory_ == nullptr ? a.packed : a.packed_memory;
        const auto k = heads<Value>(keys, first_key_), v = heads<Value>(keys, first_key_ + width_);
        return {heads<Value>(a.packed, 0), swapped() ? v : k, swapped() ? k : v};
    }

    void attend_fused(AttentionActivations<Scalar>& a) const {
        const auto [q, k, v] = q_k_v<const Scalar>(std::as_const(a));
        const DropoutPattern pattern = attention_dropout();
        a.concat.resize({x_.shape()[0], x_.shape()[1], {Axis::C, width_}});
        fused_attention<Scalar>(q, k, v, {*mask_, factor(), context_.settings.temperature, pattern}, sizes_, a.weights, a.dropped,
                                a.weights_zeros, heads<Scalar>(a.concat, 0));
    }

    void attend_fused_backward(const Tensor<Scalar>& dconcat, const AttentionActivations<Scalar>& a,
                               AttentionActivations<Scalar>& g) const {
        const auto [q, k, v] = q_k_v<const Scalar>(a);
        const auto [dq, dk, dv] = q_k_v<Scalar>(g);
        const DropoutPattern pattern = attention_dropout();
        fused_attention_backward<Scalar>(heads<const Scalar>(dconcat, 0), q, k, v, a.weights, a.dropped,
                                         {*mask_, factor(), context_.settings.temperature, pattern}, sizes_, {dq, dk, dv});
    }

    const PassContext<Scalar>& context_;
    const Config& config_;
    const AttentionWeights<const Scalar>& weights_;
    const Tensor<Scalar>& x_;
    const Tensor<Scalar>* memory_;
    const std::shared_ptr<const Mask>& mask_;
    /// What the scores are masked with: everything may attend where the mask comes after the softmax.
    const std::shared_ptr<const Mask> score_mask_ =
        context_.settings.mistake == Mistake::MaskAfterSoftmax ? std::make_shared<const Mask>(mask_->queries(), mask_->keys()) : mask_;
    StageId where_;
    bool pre_ = config_.norm == NormPlacement::Pre;
    std::int64_t size_ = config_.head_size(), width_ = config_.attention_width();
    std::int64_t first_key_ = memory_ == nullptr ? width_ : 0;  ///< column of k in the packed rows it lies in
    AttentionSizes sizes_{
        x_.shape()[0].size, config_.num_heads, x_.shape()[1].size, (memory_ == nullptr ? x_ : *memory_).shape()[1].size, size_, size_};
};

}  // namespace

template <class Scalar>
Tensor<Scalar>& output_of(const Config& config, AttentionActivations<Scalar>& activations) {
    if (config.norm == NormPlacement::Post) return activations.norm.out;
    if (config.residual) return activations.residual;
    return config.output_projection ? activations.out : activations.concat;
}

template <class Scalar>
void attention_block(const PassContext<Scalar>& context, const AttentionWeights<const Scalar>& weights, const Tensor<Scalar>& x,
                     const Tensor<Scalar>* memory, const std::shared_ptr<const Mask>& mask, const StageId& where,
                     AttentionActivations<Scalar>& activations) {
    AttentionBlock<Scalar>(context, weights, x, memory, mask, where).forward(activations);
}

template <class Scalar>
void attention_block_backward(const PassContext<Scalar>& context, const WeightsAndGradients<AttentionWeights, Scalar>& weights,
                              const Tensor<Scalar>& x, const Tensor<Scalar>* memory, const std::shared_ptr<const Mask>& mask,
                              const StageId& where, const AttentionActivations<Scalar>& activations,
                              AttentionActivations<Scalar>& gradients, Tensor<Scalar>& dx, Tensor<Scalar>* dmemory) {
    AttentionBlock<Scalar>(context, weights.weights, x, memory, mask, where)
        .backward(weights.gradients, activations, gradients, dx, dmemory);
}

#define ATTN_INSTANTIATE(Scalar)                                                                                                           \
    template Tensor<Scalar>& output_of<Scalar>(const Config&, AttentionActivations<Scalar>&);                                              \
    template void attention_block<Scalar>(const PassContext<Scalar>&, const AttentionWeights<const Scalar>&, const Tensor<Scalar>&,        \
                                          const Tensor<Scalar>*, const std::shared_ptr<const Mask>&, const StageId&,                       \
                                          AttentionActivations<Scalar>&);                                                                  \
    template void attention_block_backward<Scalar>(const PassContext<Scalar>&, const WeightsAndGradients<AttentionWeights, Scalar>&,       \
                                                   const Tensor<Scalar>&, const Tensor<Scalar>*, const std::shared_ptr<const Mask>&,       \
                                                   const StageId&, const AttentionActivations<Scalar>&, AttentionActivations<Scalar>&,     \
                                                   Tensor<Scalar>&, Tensor<Scalar>*);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn
