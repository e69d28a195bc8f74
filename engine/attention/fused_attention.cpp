#include "engine/attention/fused_attention.hpp"

#include <algorithm>
#include <limits>

#include "engine/attention/shielded_product.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/ops/scratch.hpp"

namespace attn {
namespace {

/// Rows of a map computed together: their weights and gradients stay in the cache between the products and the softmax. Few on the way
/// forth, beside the packed keys and values; more on the way back, where each block adds to all keys' gradients.
constexpr std::int64_t kForwardRows = 12, kBlockRows = 48;
/// The widest vector of any kernel build: rows end on a multiple of it where they may.
constexpr std::int64_t kVector = 16;

std::int64_t head_cost(const AttentionSizes& sizes, std::int64_t products) {
    return 1 + products * sizes.queries * sizes.keys * sizes.head_size / 32;
}

/// An operand in the order that products read it in, packed once for all blocks of rows.
template <class Scalar>
struct PackedOperand {
    const Scalar* data;
    std::int64_t k, n;

    /// `rows` are those of a head as they lie in memory: op(B) itself, or with `transposed` its transpose.
    template <ScratchUse Use>
    static PackedOperand of(const Scalar* rows, std::int64_t row, Transpose transpose, std::int64_t k, std::int64_t n) {
        const Kernels<Scalar>& kernel = kernels<Scalar>();
        Scalar* data = scratch<Scalar, Use>(kernel.packed_size(k, n));
        kernel.pack_b(rows, row, transpose, k, n, data);
        return {data, k, n};
    }
};

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
        std::int64_t n = seen, allowed = seen;
        const std::uint8_t* keep = nullptr;
        if (causal_) {
            // Up to the next whole vector with -inf, whose weight is 0: no partial vectors.
            allowed = std::min(t + 1, sizes_.keys);
            n = whole_vectors(allowed, seen);
            std::fill(row + allowed, row + n, -std::numeric_limits<Scalar>::infinity());
        } else if (!all_) {
            keep = rule_.mask.keep_row(b_, h_, t);
            if (rule_.mask.has_bias()) {
                const double* bias = rule_.mask.bias_row(b_, h_, t);
                for (std::int64_t s = 0; s < n; ++s) row[s] += static_cast<Scalar>(bias[s]);
            }
        }
        kernel_.softmax_row(row, keep, n, temperature, row);
        // From the first forbidden cell on: beside a NaN even the weight of -inf is NaN.
        std::fill(row + allowed, row + sizes_.keys, Scalar{0});
    }

    /// dp of row t, the gradient of its weights, becomes the gradient of q k^T; only the first `seen` keys matter.
    void softmax_backward_row(std::int64_t t, std::int64_t seen, const Scalar* p, Scalar* dp) const {
        const Scalar factor = static_cast<Scalar>(rule_.factor / rule_.temperature);
        if (!causal_) return kernel_.softmax_backward_row(p, dp, all_ ? nullptr : rule_.mask.keep_row(b_, h_, t), seen, factor, dp);
        // What a forbidden value makes of dp must not reach the sum over the row, nor the row's sum what is forbidden.
        const std::int64_t allowed = std::min(t + 1, sizes_.keys), n = whole_vectors(allowed, seen);
        std::fill(dp + allowed, dp + n, Scalar{0});
        kernel_.softmax_backward_row(p, dp, nullptr, n, factor, dp);
        std::fill(dp + allowed, dp + seen, Scalar{0});
    }

    /// Map cells of rows from `first` on times the rows of q, k, v or dcontext, of which `finite` says whether all are finite.
    void product(const GemmArguments<Scalar>& g, std::int64_t first, bool finite) const {
        if (finite) return gemm(g);
        const bool by_key = g.transpose_a == Transpose::Yes;
        shielded_product(g, [&](std::int64_t i, std::int64_t p) {
            const std::int64_t t = first + (by_key ? p : i), s = by_key ? i : p;
            return causal_ ? s <= t : rule_.mask.may_attend(b_, h_, t, s);
        });
    }

    bool finite(const HeadsView<const Scalar>& x, std::int64_t first, std::int64_t rows, std::int64_t n) const {
        return kernel_.rows_finite(x.at(b_, h_, first), rows, n, x.row);
    }

private:
    static std::int64_t whole_vectors(std::int64_t n, std::int64_t most) { return std::min((n + kVector - 1) / kVector * kVector, most); }

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
    const bool causal = rule.mask.is_plain_causal(), all = !causal && rule.mask.allows_everything(), drops = rule.dropout.rate() > 0;
    weights.resize(sizes.map_shape());
    if (drops) dropped.resize(sizes.map_shape());
    parallel_for(sizes.batches * sizes.heads, head_cost(sizes, 2), [&](std::int64_t bh) {
        const std::int64_t b = bh / sizes.heads, h = bh % sizes.heads;
        const Head<Scalar> head(rule, sizes, causal, all, b, h);
        const bool finite = head.finite(v, 0, keys, sizes.value_size);
        const auto keys_across =
            PackedOperand<Scalar>::template of<ScratchUse::Keys>(k.at(b, h), k.row, Transpose::Yes, sizes.head_size, keys);
        const auto values =
            PackedOperand<Scalar>::template of<ScratchUse::Values>(v.at(b, h), v.row, Transpose::No, keys, sizes.value_size);
        for (std::int64_t first = 0; first < queries; first += kForwardRows) {
            const std::int64_t rows = std::min(kForwardRows, queries - first), seen = head.keys_seen(first + rows);
            const std::int64_t at = (bh * queries + first) * keys;
            Scalar* map = weights.data() + at;
            gemm<Scalar>({.m = rows,
                          .n = seen,
                          .k = sizes.head_size,
                          .alpha = static_cast<Scalar>(rule.factor),
                          .a = q.at(b, h, first),
                          .lda = q.row,
                          .c = map,
                          .ldc = keys,
                          .packed_b = keys_across.data,
                          .packed_k = keys_across.k,
                          .packed_n = keys_across.n});
            for (std::int64_t r = 0; r < rows; ++r) head.softmax_row(first + r, seen, map + r * keys);
            if (drops) dropout_part(rule.dropout, map, at, rows * keys, dropped.data() + at);
            head.product({.m = rows,
                          .n = sizes.value_size,
                          .k = seen,
                          .a = drops ? dropped.data() + at : map,
                          .lda = keys,
                          .b = v.at(b, h),
                          .ldb = v.row,
                          .c = context.at(b, h, first),
                          .ldc = context.row,
                          .packed_b = values.data,
                          .packed_k = values.k,
                          .packed_n = values.n},
                         first, finite);
        }
    });
}

template <class Scalar>
void fused_attention_backward(const HeadsView<const Scalar>& dcontext, const HeadsView<const Scalar>& q, const HeadsView<const Scalar>& k,
                              const HeadsView<const Scalar>& v, const Tensor<Scalar>& weights, const Tensor<Scalar>& dropped,
                              const AttentionRule& rule, const AttentionSizes& sizes, const AttentionGradients<Scalar>& gradients) {
    const std::int64_t queries = sizes.queries, keys = sizes.keys, d = sizes.head_size, dv = sizes.value_size;
    const bool causal = rule.mask.is_plain_causal(), all = !causal && rule.mask.allows_everything(), drops = rule.dropout.rate() > 0;
    parallel_for(sizes.batches * sizes.heads, head_cost(sizes, 4), [&](std::int64_t bh) {
        const std::int64_t b = bh / sizes.heads, h = bh % sizes.heads;
        const Head<Scalar> head(rule, sizes, causal, all, b, h);
        Scalar* dmap = scratch<Scalar, ScratchUse::Attention>(kBlockRows * keys);
        for (std::int64_t s = queries > 0 ? head.keys_seen(queries) : 0; s < keys; ++s) {
            std::fill_n(gradients.dk.at(b, h, s), d, Scalar{0});
            std::fill_n(gradients.dv.at(b, h, s), dv, Scalar{0});
        }
        const bool keys_finite = head.finite(k, 0, keys, d);
        const auto packed_keys = PackedOperand<Scalar>::template of<ScratchUse::Keys>(k.at(b, h), k.row, Transpose::No, keys, d);
        const auto values_across = PackedOperand<Scalar>::template of<ScratchUse::Values>(v.at(b, h), v.row, Transpose::Yes, dv, keys);
        // From the last block, which sees the most keys and so sets all that the others add to.
        const std::int64_t last = (queries - 1) / kBlockRows * kBlockRows;
        for (std::int64_t first = queries > 0 ? last : -1; first >= 0; first -= kBlockRows) {
            const bool adds = first < last;
            const std::int64_t rows = std::min(kBlockRows, queries - first), seen = head.keys_seen(first + rows);
            const std::int64_t at = (bh * queries + first) * keys;
            const Scalar *map = weights.data() + at, *kept = drops ? dropped.data() + at : map;
            gemm<Scalar>({.m = rows,
                          .n = seen,
                          .k = dv,
                          .a = dcontext.at(b, h, first),
                          .lda = dcontext.row,
                          .c = dmap,
                          .ldc = keys,
                          .packed_b = values_across.data,
                          .packed_k = values_across.k,
                          .packed_n = values_across.n});
            head.product({.m = seen,
                          .n = dv,
                          .k = rows,
                          .a = kept,
                          .lda = keys,
                          .b = dcontext.at(b, h, first),
                          .ldb = dcontext.row,
                          .c = gradients.dv.at(b, h),
                          .ldc = gradients.dv.row,
                          .transpose_a = Transpose::Yes,
                          .accumulate = adds},
                         first, head.finite(dcontext, first, rows, dv));
            if (drops)
                for (std::int64_t r = 0; r < rows; ++r) dropout_part(rule.dropout, dmap + r * keys, at + r * keys, seen, dmap + r * keys);
            for (std::int64_t r = 0; r < rows; ++r) head.softmax_backward_row(first + r, seen, map + r * keys, dmap + r * keys);
            head.product({.m = rows,
                          .n = d,
                          .k = seen,
                          .a = dmap,
                          .lda = keys,
                          .b = k.at(b, h),
                          .ldb = k.row,
                          .c = gradients.dq.at(b, h, first),
                          .ldc = gradients.dq.row,
                          .packed_b = packed_keys.data,
                          .packed_k = packed_keys.k,
                          .packed_n = packed_keys.n},
                         first, keys_finite);
            head.product({.m = seen,
                          .n = d,
                          .k = rows,
                          .a = dmap,
                          .lda = keys,
                          .b = q.at(b, h, first),
                          .ldb = q.row,
                          .c = gradients.dk.at(b, h),
                          .ldc = gradients.dk.row,
                          .transpose_a = Transpose::Yes,
                          .accumulate = adds},
                         first, head.finite(q, first, rows, d));
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
