#pragma once
/// A common interface for both implementations of attention, stage by stage and fused for training, so that every test can run on both.

#include <type_traits>

#include "engine/attention/fused_attention.hpp"
#include "engine/attention/scaled_dot_product.hpp"
#include "engine/ops/dropout.hpp"

namespace attn::test {

template <class Scalar>
struct AttentionCase {
    Tensor<Scalar> q, k, v, dcontext;  ///< [B,H,T,D], [B,H,S,D], [B,H,S,Dv], [B,H,T,Dv]
    Mask mask;
    double factor = 1, temperature = 1;
    DropoutPattern dropout{0, 0, {}};
};

template <class Scalar>
struct AttentionResult {
    Tensor<Scalar> weights, dropped, context, dq, dk, dv;
};

/// One function per stage; with `kPrecise`, weights are not computed from the rounded scores.
template <class Value, bool kPrecise = false>
struct Staged {
    using Scalar = Value;
    static AttentionResult<Scalar> run(const AttentionCase<Scalar>& in) {
        const AttentionSizes sizes = attention_sizes(in.q, in.k, in.v);
        require_mask_fits(in.mask, sizes);
        AttentionResult<Scalar> out;
        Tensor<Scalar> scores, scaled, masked, ddropped, dweights(sizes.map_shape()), dmasked, dscores;
        attention_scores(in.q, in.k, sizes, scores);
        scale_scores(scores, in.factor, scaled);
        mask_scores(scaled, in.mask, sizes, masked);
        if (kPrecise) precise_attention_weights(in.q, in.k, in.factor, masked, in.mask, in.temperature, sizes, out.weights);
        else attention_weights(masked, in.mask, in.temperature, sizes, out.weights);
        out.dropped.resize(sizes.map_shape());
        dropout(in.dropout, out.weights.data(), out.weights.size(), out.dropped.data());
        attention_context(out.dropped, in.v, in.mask, sizes, out.context);

        attention_context_backward(in.dcontext, out.dropped, in.v, in.mask, sizes, ddropped, out.dv);
        dropout(in.dropout, ddropped.data(), ddropped.size(), dweights.data());
        attention_weights_backward(dweights, out.weights, in.mask, in.temperature, sizes, dmasked);
        scale_scores(dmasked, in.factor, dscores);
        attention_scores_backward(dscores, in.q, in.k, in.mask, sizes, out.dq, out.dk);
        return out;
    }
};

template <class Value>
using PreciselyStaged = Staged<Value, true>;

/// A block of rows at a time, with heads side by side in each row, as in training.
template <class Value>
struct Fused {
    using Scalar = Value;
    static AttentionResult<Scalar> run(const AttentionCase<Scalar>& in) {
        const AttentionSizes sizes = attention_sizes(in.q, in.k, in.v);
        require_mask_fits(in.mask, sizes);
        AttentionResult<Scalar> out;
        const Rows q(in.q), k(in.k), v(in.v), dcontext(in.dcontext);
        Rows context(sizes.context_shape()), dq(in.q.shape()), dk(in.k.shape()), dv(in.v.shape());
        const AttentionRule rule{in.mask, in.factor, in.temperature, in.dropout};
        CausalZeros zeros;
        fused_attention<Scalar>(q.view(), k.view(), v.view(), rule, sizes, out.weights, out.dropped, zeros, context.view());
        fused_attention_backward<Scalar>(dcontext.view(), q.view(), k.view(), v.view(), out.weights, out.dropped, rule, sizes,
                                         {dq.view(), dk.view(), dv.view()});
        if (in.dropout.rate() == 0) out.dropped = out.weights;
        out.context = context.heads(), out.dq = dq.heads(), out.dk = dk.heads(), out.dv = dv.heads();
        return out;
    }

private:
    /// Views [B,H,P,D] as [B,P,H D].
    class Rows {
    public:
        explicit Rows(const Shape& shape) : shape_(shape), values_(static_cast<std::size_t>(shape.count())) {}
        explicit Rows(const Tensor<Scalar>& heads) : Rows(heads.shape()) {
            for_each([&](std::int64_t packed, std::int64_t head) { values_[static_cast<std::size_t>(packed)] = heads.data()[head]; });
        }
        Tensor<Scalar> heads() const {
            Tensor<Scalar> out(shape_);
            for_each([&](std::int64_t packed, std::int64_t head) { out.data()[head] = values_[static_cast<std::size_t>(packed)]; });
            return out;
        }
        HeadsView<const Scalar> view() const { return view_of(values_.data()); }
        HeadsView<Scalar> view() { return view_of(values_.data()); }

    private:
        template <class P>
        HeadsView<std::remove_pointer_t<P>> view_of(P data) const {
            const std::int64_t width = shape_[1].size * shape_[3].size;
            return {data, shape_[2].size * width, shape_[3].size, width};
        }
        template <class F>
        void for_each(const F& f) const {
            std::int64_t head = 0;
            for (std::int64_t b = 0; b < shape_[0].size; ++b)
                for (std::int64_t h = 0; h < shape_[1].size; ++h)
                    for (std::int64_t p = 0; p < shape_[2].size; ++p)
                        for (std::int64_t d = 0; d < shape_[3].size; ++d)
                            f(((b * shape_[2].size + p) * shape_[1].size + h) * shape_[3].size + d, head++);
        }
        Shape shape_;
        AlignedVector<Scalar> values_;
    };
};

}  // namespace attn::test
