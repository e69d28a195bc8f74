#include <cmath>

#include "engine/attention/multi_head.hpp"
#include "engine/attention/scaled_dot_product.hpp"
#include "engine/model/blocks.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/linear.hpp"

namespace attn {
namespace {

/// One attention sub-layer, self or cross: which stages it has and where its tensors lie.
template <class Scalar>
class AttentionBlock {
public:
    AttentionBlock(const ForwardContext<Scalar>& context, const AttentionWeights<const Scalar>& weights, bool cross, StageId where,
                   AttentionActivations<Scalar>& activations)
        : context_(context), weights_(weights), cross_(cross), where_(where), a_(activations) {}

    /// `memory` is null for self-attention.
    Tensor<Scalar>& run(Tensor<Scalar>& x, const Tensor<Scalar>* memory, const std::shared_ptr<const Mask>& mask) {
        const bool pre = context_.config.norm == NormPlacement::Pre;
        project(pre ? norm_layer(context_, weights_.norm, x, stage(Stage::Norm1), a_.norm) : x, memory);
        attend(mask);
        Tensor<Scalar>* out = &a_.concat;
        if (context_.config.output_projection) {
            affine(a_.concat, weights_.out, {Axis::C, context_.config.d_model}, a_.out);
            context_.tap(stage(Stage::AttentionOut), a_.out);
            out = &a_.out;
        }
        return end_block(context_, x, *out,
                         {weights_.norm, a_.norm, a_.residual, stage(Stage::AttentionOut), stage(Stage::Residual1), stage(Stage::Norm1)});
    }

private:
    StageId stage(Stage self) const { return {cross_ ? to_cross(self) : self, where_.layer, where_.stack}; }

    void affine(const Tensor<Scalar>& x, const LinearWeights<const Scalar>& w, Dim out, Tensor<Scalar>& y) const {
        const Shape& shape = x.shape();
        y.resize({shape[0], shape[1], out});
        linear(x.data(), shape[0].size * shape[1].size, shape[2].size, out.size, w.weight, w.bias, y.data());
    }

    /// q from x; k and v from x too, or from the memory.
    void project(const Tensor<Scalar>& x, const Tensor<Scalar>* memory) {
        const std::int64_t heads = context_.config.num_heads, size = context_.config.head_size(), width = heads * size;
        if (memory == nullptr) {
            affine(x, weights_.qkv, {Axis::N, 3 * width}, a_.packed);
        } else {
            affine(x, weights_.q, {Axis::N, width}, a_.packed);
            affine(*memory, weights_.kv, {Axis::N, 2 * width}, a_.packed_memory);
        }
        const Tensor<Scalar>& keys = memory == nullptr ? a_.packed : a_.packed_memory;
        const std::int64_t first = memory == nullptr ? width : 0;
        split_heads(a_.packed, 0, heads, size, Axis::T, a_.q);
        context_.tap(stage(Stage::Q), a_.q);
        split_heads(keys, first, heads, size, Axis::S, a_.k);
        context_.tap(stage(Stage::K), a_.k);
        split_heads(keys, first + width, heads, size, Axis::S, a_.v);
        context_.tap(stage(Stage::V), a_.v);
    }

    void attend(const std::shared_ptr<const Mask>& mask) {
        const AttentionSizes sizes = attention_sizes(a_.q, a_.k, a_.v);
        require_mask_fits(*mask, sizes);
        attention_scores(a_.q, a_.k, sizes, a_.scores);
        context_.tap(stage(Stage::Scores), a_.scores);
        scale_scores(a_.scores, 1 / std::sqrt(static_cast<double>(sizes.head_size)), a_.scaled);
        context_.tap(stage(Stage::Scaled), a_.scaled);
        mask_scores(a_.scaled, *mask, sizes, a_.masked);
        context_.tap(stage(Stage::Masked), a_.masked, mask);
        attention_weights(a_.masked, *mask, context_.settings.temperature, sizes, a_.weights);
        context_.tap(stage(Stage::Weights), a_.weights, mask);
        const DropoutSettings& settings = context_.settings.dropout;
        a_.dropped.resize(a_.weights.shape());
        dropout(DropoutPattern(settings.attention, settings.seed, stage(Stage::Dropped)), a_.weights.data(), a_.weights.size(),
                a_.dropped.data());
        context_.tap(stage(Stage::Dropped), a_.dropped, mask);
        attention_context(a_.dropped, a_.v, *mask, sizes, a_.context);
        context_.tap(stage(Stage::Context), a_.context);
        concat_heads(a_.context, a_.concat);
        context_.tap(stage(Stage::Concat), a_.concat);
    }

    const ForwardContext<Scalar>& context_;
    const AttentionWeights<const Scalar>& weights_;
    bool cross_;
    StageId where_;
    AttentionActivations<Scalar>& a_;
};

}  // namespace

template <class Scalar>
Tensor<Scalar>& self_attention_block(const ForwardContext<Scalar>& context, const AttentionWeights<const Scalar>& weights,
                                     Tensor<Scalar>& x, const std::shared_ptr<const Mask>& mask, StageId where,
                                     AttentionActivations<Scalar>& activations) {
    return AttentionBlock<Scalar>(context, weights, false, where, activations).run(x, nullptr, mask);
}

template <class Scalar>
Tensor<Scalar>& cross_attention_block(const ForwardContext<Scalar>& context, const AttentionWeights<const Scalar>& weights,
                                      Tensor<Scalar>& x, const Tensor<Scalar>& memory, const std::shared_ptr<const Mask>& mask,
                                      StageId where, AttentionActivations<Scalar>& activations) {
    return AttentionBlock<Scalar>(context, weights, true, where, activations).run(x, &memory, mask);
}

#define ATTN_INSTANTIATE(Scalar)                                                                                                           \
    template Tensor<Scalar>& self_attention_block<Scalar>(const ForwardContext<Scalar>&, const AttentionWeights<const Scalar>&,            \
                                                          Tensor<Scalar>&, const std::shared_ptr<const Mask>&, StageId,                    \
                                                          AttentionActivations<Scalar>&);                                                  \
    template Tensor<Scalar>& cross_attention_block<Scalar>(const ForwardContext<Scalar>&, const AttentionWeights<const Scalar>&,           \
                                                           Tensor<Scalar>&, const Tensor<Scalar>&, const std::shared_ptr<const Mask>&,     \
                                                           StageId, AttentionActivations<Scalar>&);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)

}  // namespace attn
