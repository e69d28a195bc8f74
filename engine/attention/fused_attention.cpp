#include "engine/attention/fused_attention.hpp"

#include <algorithm>
#include <limits>

#include "engine/ops/gemm.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/ops/scratch.hpp"

namespace attn {
namespace {

/// Rows of a map computed together: their weights and gradients stay in the cache between the products and the softmax.
constexpr std::int64_t kBlockRows = 48;
/// The widest vector of any kernel build: rows end on a multiple of it where they may.
constexpr std::int64_t kVector = 16;

std::int64_t head_cost(const AttentionSizes& sizes, std::int64_t products) {
    return 1 + products * sizes.queries * sizes.keys * sizes.head_size / 32;
}

/// One head's maps, a block of rows at a time.
template <class Scalar>
class Head {
public:
    Head(const AttentionRule& rule, const AttentionSizes& sizes, bool causal, bool all, std::int64_t b, std::int64_t h)
        : rule_(rule), sizes_(sizes), causal_(causal), all_(all), b_(b), h_(h) {}

    /// Keys that some row before `last_row` may see.
    std::int64_t keys_seen(std::int64_t last_row) const { return causal_ ? std::min(last_row, sizes_.keys) : sizes_.keys; }

    /// Scaled scores of row t in `row`, of which `seen` are computed, become its weights; the rest of the row becomes 0.
    void softmax_row(std::int64_t t, std::int64_t seen, Scalar* row) const {
        const Scalar temperature = static_cast<Scalar>(rule_.temperature);
        std::int64_t n = seen;
        const std::uint8_t* keep = nullptr;
        if (causal_) {
            // Up to the next whole vector with -inf, whose weight is 0: no partial vectors.
            const std::int64_t allowed = std::min(t + 1, sizes_.keys);
            n = std::min((allowed + kVector - 1) / kVector * kVector, seen);
            std::fill(row + allowed, row + n, -std::numeric_limits<Scalar>::infinity());
        } else if (!all_) {
            keep = rule_.mask.keep_row(b_, h_, t);
            if (rule_.mask.has_bias()) {
                const double* bias = rule_.mask.bias_row(b_, h_, t);
                for (std::int64_t s = 0; s < n; ++s) row[s] += static_cast<Scalar>(bias[s]);
            }
        }
        kernel_.softmax_row(row, keep, n, temperature, row);
        std::fill(row + n, row + sizes_.keys, Scalar{0});
    }

    /// dp of row t, the gradient of its weights, becomes the gradient of q k^T; only the first `seen` keys matter.
    void softmax_backward_row(std::int64_t t, std::int64_t seen, const Scalar* p, Scalar* dp) const {
        const bool by_mask = !causal_ && !all_;
        const std::uint8_t* keep = by_mask ? rule_.mask.keep_row(b_, h_, t) : nullptr;
        kernel_.softmax_backward_row(p, dp, keep, seen, static_cast<Scalar>(rule_.factor / rule_.temperature), dp);
    }

private:
    const AttentionRule& rule_;
    const AttentionSizes& sizes_;
    bool causal_, all_;
    std::int64_t b_, h_;
    const Kernels<Scalar>& kernel_ = kernels<Scalar>();
};

}  // namespace

template <class Scalar>
void fused_attention(const HeadsView<const Scalar>& q, const HeadsView<const Scalar>& k, const HeadsView<const Scalar>& v,
                     const AttentionRule& rule, const AttentionSizes& sizes, Tensor<Scalar>& weights, Tensor<Scalar>& dropped,
                     const HeadsView<Scalar>& context) {
    const std::int64_t queries = sizes.queries, keys = sizes.keys;
    const bool causal = rule.mask.is_plain_causal(), all = rule.mask.allows_everything(), drops = rule.dropout.rate() > 0;
    weights.resize(sizes.map_shape());
    if (drops) dropped.resize(sizes.map_shape());
    parallel_for(sizes.batches * sizes.heads, head_cost(sizes, 2), [&](std::int64_t bh) {
        const std::int64_t b = bh / sizes.heads, h = bh % sizes.heads;
        const Head<Scalar> head(rule, sizes, causal, all, b, h);
        for (std::int64_t first = 0; first < queries; first += kBlockRows) {
            const std::int64_t rows = std::min(kBlockRows, queries - first), seen = head.keys_seen(first + rows);
            const std::int64_t at = (bh * queries + first) * keys;
            Scalar* map = weights.data() + at;
            gemm<Scalar>({.m = rows,
                          .n = seen,
                          .k = sizes.head_size,
                          .alpha = static_cast<Scalar>(rule.factor),
                          .a = q.at(b, h, first),
                          .lda = q.row,
                          .b = k.at(b, h),
                          .ldb = k.row,
                          .c = map,
                          .ldc = keys,
                          .transpose_b = Transpose::Yes});
            for (std::int64_t r = 0; r < rows; ++r) head.softmax_row(first + r, seen, map + r * keys);
            if (drops) dropout_part(rule.dropout, map, at, rows * keys, dropped.data() + at);
            gemm<Scalar>({.m = rows,
                          .n = sizes.value_size,
                          .k = seen,
                          .a = drops ? dropped.data() + at : map,
                          .lda = keys,
                          .b = v.at(b, h),
                          .ldb = v.row,
                          .c = context.at(b, h, first),
                          .ldc = context.row});
        }
    });
}

template <class Scalar>
void fused_attention_backward(const HeadsView<const Scalar>& dcontext, const HeadsView<const Scalar>& q, const HeadsView<const Scalar>& k,
                              const HeadsView<const Scalar>& v, const Tensor<Scalar>& weights, const Tensor<Scalar>& dropped,
                              const AttentionRule& rule, const AttentionSizes& sizes, const AttentionGradients<Scalar>& gradients) {
    const std::int64_t queries = sizes.queries, keys = sizes.keys, d = sizes.head_size, dv = sizes.value_size;
    const bool causal = rule.mask.is_plain_causal(), all = rule.mask.allows_everything(), drops = rule.dropout.rate() > 0;
    parallel_for(sizes.batches * sizes.heads, head_cost(sizes, 4), [&](std::int64_t bh) {
        const std::int64_t b = bh / sizes.heads, h = bh % sizes.heads;
        const Head<Scalar> head(rule, sizes, causal, all, b, h);
        Scalar* dmap = scratch<Scalar, ScratchUse::Attention>(kBlockRows * keys);
        for (std::int64_t s = 0; s < keys; ++s) {
            std::fill_n(gradients.dk.at(b, h, s), d, Scalar{0});
            std::fill_n(gradients.dv.at(b, h, s), dv, Scalar{0});
        }
        for (std::int64_t first = 0; first < queries; first += kBlockRows) {
            const std::int64_t rows = std::min(kBlockRows, queries - first), seen = head.keys_seen(first + rows);
            const std::int64_t at = (bh * queries + first) * keys;
            const Scalar *map = weights.data() + at, *kept = drops ? dropped.data() + at : map;
            gemm<Scalar>({.m = rows,
                          .n = seen,
                          .k = dv,
                          .a = dcontext.at(b, h, first),
                          .lda = dcontext.row,
                          .b = v.at(b, h),
                          .ldb = v.row,
                          .c = dmap,
                          .ldc = keys,
                          .transpose_b = Transpose::Yes});
            gemm<Scalar>({.m = seen,
                          .n = dv,
                          .k = rows,
                          .a = kept,
                          .lda = keys,
                          .b = dcontext.at(b, h, first),
                          .ldb = dcontext.row,
                          .c = gradients.dv.at(b, h),
                          .ldc = gradients.dv.row,
                          .transpose_a = Transpose::Yes,
                          .accumulate = true});
            if (drops)
                for (std::int64_t r = 0; r < rows; ++r) dropout_part(rule.dropout, dmap + r * keys, at + r * keys, seen, dmap + r * keys);
            for (std::int64_t r = 0; r < rows; ++r) head.softmax_backward_row(first + r, seen, map + r * keys, dmap + r * keys);
            gemm<Scalar>({.m = rows,
                          .n = d,
                          .k = seen,
                          .a = dmap,
                          .lda = keys,
                          .b = k.at(b, h),
                          .ldb = k.row,
                          .c = gradients.dq.at(b, h, first),
                          .ldc = gradients.dq.row});
            gemm<Scalar>({.m = seen,
                          .n = d,
                          .k = rows,
                          .a = dmap,
                          .lda = keys,
                          .b = q.at(b, h, first),
                          .ldb = q.row,
                          .c = gradients.dk.at(b, h),
                          .ldc = gradients.dk.row,
                          .transpose_a = Transpose::Yes,
                          .accumulate = true});
        }
    });
}

#define ATTN_INSTANTIATE(Scalar)                                                                                                           \
    template void fused_attention<Scalar>(const HeadsView<const Scalar>&, const HeadsView<const Scalar>&, const HeadsView<const Scalar>&,  \
                                          const AttentionRule&, const AttentionSizes&, Tensor<Scalar>&, Tensor<Scalar>&,                   \
                                          const HeadsView<Scalar>&);                                                                       \
    template void fused_attention_backward<Scalar>(                                                                                        \
        const HeadsView<const Scalar>&, const HeadsView<const Scalar>&, const HeadsView<const Scalar>&, const HeadsView<const Scalar>&,    \
        const Tensor<Scalar>&, const Tensor<Scalar>&, const AttentionRule&, const AttentionSizes&, const AttentionGradients<Scalar>&);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)

}  // namespace attn
