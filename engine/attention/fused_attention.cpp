#include "engine/attention/fused_attention.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "engine/attention/large_logits.hpp"
#include "engine/attention/shielded_product.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/ops/scratch.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

/// Rows of a map computed together, so that they stay in the cache between products and softmax.
constexpr std::int64_t kRows = 24;
/// How much of the map's gradient is kept before it is added to dk, as many numbers as fit the cache.
constexpr std::int64_t kBlockNumbers = 50'000;
/// Keys whose gradients are computed together; in a causal map the rows before the first of them can be skipped.
constexpr std::int64_t kKeys = 24;
/// The widest vector of any kernel build; rows are padded to a multiple of it where possible.
constexpr std::int64_t kVector = 16;

/// Row distance of a block in scratch memory: whole vectors, but no multiple of a large power of two, which would map all rows to a few
/// cache sets.
std::int64_t block_stride(std::int64_t keys) {
    const std::int64_t numbers = (keys + kVector - 1) / kVector * kVector;
    return numbers % 256 == 0 ? numbers + kVector : numbers;
}

/// Rows per block in the backward pass: as many as fit the cache, in blocks of about equal size.
std::int64_t rows_of_a_block(std::int64_t queries, std::int64_t stride) {
    const std::int64_t most = std::max(kBlockNumbers / std::max(stride, kVector), kRows), blocks = (queries + most - 1) / most;
    return blocks > 0 ? (queries + blocks * kRows - 1) / (blocks * kRows) * kRows : kRows;
}

std::int64_t head_cost(const AttentionSizes& sizes, std::int64_t products) {
    const std::int64_t numbers = products * sizes.queries * sizes.keys * sizes.head_size;
    // A single row is bound by memory, above all for what other tokens have evicted from the cache.
    return 1 + (sizes.queries == 1 ? 4 * numbers : numbers / 32);
}

/// The rows of a head as op(B) of products: packed once for all blocks of rows, or left in memory for a single row of A, which reads every
/// number just once.
template <class Scalar>
struct Operand {
    MatrixView view;                 ///< op(B) [k,n]
    const Scalar* packed = nullptr;  ///< null if not packed

    bool finite() const {
        const Kernels<Scalar>& kernel = kernels<Scalar>();
        if (packed != nullptr) return kernel.all_finite(packed, kernel.packed_size(view.rows, view.columns));
        const MatrixView stored = view.transposed ? view.across() : view;
        return kernel.rows_finite(stored.numbers<Scalar>(), stored.rows, stored.columns, stored.stride);
    }
    /// The product `g` with the first g.k rows and g.n columns of the operand.
    void multiply(GemmArguments<Scalar> g) const {
        if (packed == nullptr) return parallel_gemm(g, view.rows_from(0, g.k).columns_from(0, g.n));
        g.packed_b = packed;
        g.packed_k = view.rows;
        g.packed_n = view.columns;
        gemm(g);
    }

    /// `rows` points to a head's rows in memory, `row` apart; `queries` is the number of rows of A.
    template <ScratchUse Use>
    static Operand of(const Scalar* rows, std::int64_t row, Transpose transpose, std::int64_t k, std::int64_t n, std::int64_t queries) {
        const bool across = transpose == Transpose::Yes;
        const MatrixView view{rows, kNumberKind<Scalar>, k, n, row, across};
        if (queries == 1) return {view, nullptr};
        const Kernels<Scalar>& kernel = kernels<Scalar>();
        Scalar* data = scratch<Scalar, Use>(kernel.packed_size(k, n));
        kernel.pack_b(rows, row, transpose, k, n, data);
        return {view, data};
    }
};

/// Computes one head's maps, a block of rows at a time.
template <class Scalar>
class Head {
public:
    Head(const AttentionRule& rule, const AttentionSizes& sizes, bool causal, bool all, std::int64_t b, std::int64_t h)
        : rule_(rule), sizes_(sizes), causal_(causal), all_(all), b_(b), h_(h) {}

    /// How many keys the rows before `last_row` may see.
    std::int64_t keys_seen(std::int64_t last_row) const { return causal_ ? std::min(last_row, sizes_.keys) : sizes_.keys; }

    /// How many cells of a row to compute: `seen`, rounded up to whole vectors, which is faster; the extra cells have no effect.
    std::int64_t computed(std::int64_t seen) const { return whole_vectors(seen, sizes_.keys); }

    /// Scores of rows [first, first + rows), times `alpha`, for the first `seen` keys.
    void scores(const HeadsView<const Scalar>& q, const Operand<Scalar>& keys_across, Scalar alpha, std::int64_t first, std::int64_t rows,
                std::int64_t seen, Scalar* block) const {
        keys_across.multiply({.m = rows,
                              .n = computed(seen),
                              .k = sizes_.head_size,
                              .alpha = alpha,
                              .a = q.at(b_, h_, first),
                              .lda = q.row,
                              .c = block,
                              .ldc = block_stride(sizes_.keys)});
    }
    void scaled_scores(const HeadsView<const Scalar>& q, const Operand<Scalar>& keys_across, std::int64_t first, std::int64_t rows,
                       std::int64_t seen, Scalar* block) const {
        scores(q, keys_across, static_cast<Scalar>(rule_.factor), first, rows, seen, block);
    }

    /// Weights of rows [first, first + rows) in `block`, rounded like the separate stages: scores are scaled after the product, and large
    /// logits are not centered.
    void staged_weights(const HeadsView<const Scalar>& q, const Operand<Scalar>& keys_across, std::int64_t first, std::int64_t rows,
                        std::int64_t seen, Scalar* block) const {
        const std::int64_t stride = block_stride(sizes_.keys);
        scores(q, keys_across, Scalar{1}, first, rows, seen, block);
        for (std::int64_t r = 0; r < rows; ++r)
            kernel_.scale(block + r * stride, static_cast<Scalar>(rule_.factor), computed(seen), block + r * stride);
        if (bends_) bend(first, rows, seen, block);
        kernel_.softmax_rows({cells(first, rows, seen, whole_vectors(seen, stride)), block, stride, block, stride, nullptr, 0, 0,
                              static_cast<Scalar>(rule_.temperature), nullptr});
    }

    /// Scaled scores with soft cap, ALiBi and the mask's bias applied: the input of the softmax.
    void logits(const HeadsView<const Scalar>& q, const Operand<Scalar>& keys_across, std::int64_t first, std::int64_t rows,
                std::int64_t seen, Scalar* block) const {
        scaled_scores(q, keys_across, first, rows, seen, block);
        if (bends_) bend(first, rows, seen, block);
    }

    /// Applies soft cap, ALiBi and the mask's bias to scaled scores. Not inlined, so that models without any of them lose no time.
    [[gnu::noinline]] void bend(std::int64_t first, std::int64_t rows, std::int64_t seen, Scalar* block) const {
        for (std::int64_t r = 0; r < rows; ++r) {
            Scalar* const row = block + r * block_stride(sizes_.keys);
            if (rule_.cap > 0) cap(row, seen);
            if (!rule_.slopes.empty())
                for (std::int64_t s = 0; s < seen; ++s) row[s] -= static_cast<Scalar>(lost_by_distance(first + r, s));
            if (!rule_.mask.has_bias()) continue;
            const double* bias = rule_.mask.bias_row(b_, h_, first + r);
            for (std::int64_t s = 0; s < sizes_.keys; ++s) row[s] += static_cast<Scalar>(bias[s]);
        }
    }

    /// Turns dp, the gradient of capped scores, into that of the scaled scores, which are recomputed in `block`.
    [[gnu::noinline]] void uncap(const HeadsView<const Scalar>& q, const Operand<Scalar>& keys_across, std::int64_t first,
                                 std::int64_t rows, std::int64_t seen, Scalar* block, Scalar* dp) const {
        const std::int64_t stride = block_stride(sizes_.keys);
        const auto most = static_cast<Scalar>(rule_.cap);
        scaled_scores(q, keys_across, first, rows, seen, block);
        for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t s = 0; s < seen; ++s) {
                // A masked cell's gradient is 0, whatever its score.
                Scalar& own = dp[r * stride + s];
                const Scalar bent = std::tanh(block[r * stride + s] / most);
                if (own != 0) own *= 1 - bent * bent;
            }
    }

    /// Turns the logits of rows [first, first + rows) in `block` into weights, and copies the first `written` cells of each row to `map`.
    /// Stores each row's largest logit in `largest`; returns whether any of them needs centering.
    bool softmax_rows(std::int64_t first, std::int64_t rows, std::int64_t seen, std::int64_t written, Scalar* block, Scalar* map,
                      Scalar* largest) const {
        const std::int64_t keys = sizes_.keys, stride = block_stride(keys);
        kernel_.softmax_rows({cells(first, rows, seen, whole_vectors(seen, stride)), block, stride, block, stride, map, keys, written,
                              static_cast<Scalar>(rule_.temperature), largest});
        // Capped logits cannot be recomputed from queries and keys alone.
        return rule_.cap == 0 && std::any_of(largest, largest + rows, is_large_logit<Scalar>);
    }

    /// Centers the logits of rows whose largest logit is large.
    [[gnu::noinline]] void center_rows(const HeadsView<const Scalar>& q, const HeadsView<const Scalar>& k, std::int64_t first,
                                       std::int64_t rows, const Scalar* largest, Scalar* block) const {
        for (std::int64_t r = 0; r < rows; ++r) {
            if (!is_large_logit(largest[r])) continue;
            const std::int64_t t = first + r;
            const std::vector<double> bias = bias_of(t);
            center_large_logits({q.at(b_, h_, t), k.at(b_, g_), k.row, sizes_.head_size, bias.empty() ? nullptr : bias.data(), rule_.factor,
                                 rule_.temperature},
                                keys_seen(t + 1), kept_rows(t, 1), block + r * block_stride(sizes_.keys));
        }
    }

    /// Turns dp, the gradient of the weights of rows [first, first + rows), into that of q k^T, for the first `seen` keys.
    void softmax_backward_rows(std::int64_t first, std::int64_t rows, std::int64_t seen, const Scalar* map, Scalar* dp) const {
        const std::int64_t keys = sizes_.keys, stride = block_stride(keys);
        // Only allowed cells are included, so that a NaN in a forbidden value cannot reach the row's sum and the sum cannot reach forbidden
        // cells.
        kernel_.softmax_backward_rows({cells(first, rows, seen, std::min((seen + 2 * kKeys - 1) / (2 * kKeys) * (2 * kKeys), stride)), map,
                                       keys, dp, stride, dp, stride, static_cast<Scalar>(rule_.factor / rule_.temperature)});
    }

    /// Map cells, starting with (t, s), times rows of q, k, v or dcontext. `finite` tells whether all of those rows are finite.
    void product(const GemmArguments<Scalar>& g, std::int64_t t, std::int64_t s, bool finite) const {
        if (finite) return gemm(g);
        const bool by_key = g.transpose_a == Transpose::Yes;
        shielded_product(g, [&](std::int64_t i, std::int64_t p) {
            const std::int64_t query = t + (by_key ? p : i), key = s + (by_key ? i : p);
            return causal_ ? key <= query : rule_.mask.may_attend(b_, h_, query, key);
        });
    }

    /// The same with the rows of k or v as an Operand.
    void product(const Operand<Scalar>& rows, GemmArguments<Scalar> g, std::int64_t t, std::int64_t s, bool finite) const {
        if (finite) return rows.multiply(g);
        g.b = rows.view.template numbers<Scalar>();
        g.ldb = rows.view.stride;
        product(g, t, s, false);
    }

    /// Rows [first, first + rows) of the context, from the first `seen` weights of each row.
    void mix(const Scalar* kept, std::int64_t stride, const Operand<Scalar>& values, bool finite, std::int64_t first, std::int64_t rows,
             std::int64_t seen, const HeadsView<Scalar>& context) const {
        product(
            values,
            {.m = rows, .n = sizes_.value_size, .k = seen, .a = kept, .lda = stride, .c = context.at(b_, h_, first), .ldc = context.row},
            first, 0, finite);
    }

    /// sum = cells^T x over the rows [first, first + rows), or sum += if `adds`.
    ///   cells [rows,keys]  x [rows,n]  ->  sum [keys,n] of the head's keys
    void sum_by_key(const Scalar* cells, std::int64_t stride, const HeadsView<const Scalar>& x, std::int64_t n, std::int64_t first,
                    std::int64_t rows, bool adds, const HeadsView<Scalar>& sum) const {
        const std::int64_t seen = keys_seen(first + rows), together = causal_ ? kKeys : seen;
        const bool finite = rows_finite(x.at(b_, h_, first), rows, n, x.row);
        for (std::int64_t s = 0; s < seen; s += together) {
            const std::int64_t skipped = causal_ ? std::max(s - first, std::int64_t{0}) : 0;
            product({.m = std::min(together, seen - s),
                     .n = n,
                     .k = rows - skipped,
                     .a = cells + skipped * stride + s,
                     .lda = stride,
                     .b = x.at(b_, h_, first + skipped),
                     .ldb = x.row,
                     .c = sum.at(b_, g_, s),
                     .ldc = sum.row,
                     .transpose_a = Transpose::Yes,
                     .accumulate = adds},
                    first + skipped, s, finite);
        }
    }

private:
    void cap(Scalar* row, std::int64_t n) const {
        const auto most = static_cast<Scalar>(rule_.cap);
        for (std::int64_t s = 0; s < n; ++s) row[s] = most * std::tanh(row[s] / most);
    }
    double lost_by_distance(std::int64_t t, std::int64_t s) const {
        return rule_.slopes[static_cast<std::size_t>(h_)] * static_cast<double>(rule_.first_position + t - s);
    }
    /// ALiBi and the mask's bias for a row; empty if there is neither.
    std::vector<double> bias_of(std::int64_t t) const {
        if (rule_.slopes.empty() && !rule_.mask.has_bias()) return {};
        std::vector<double> bias(static_cast<std::size_t>(sizes_.keys));
        for (std::int64_t s = 0; s < sizes_.keys; ++s) {
            double& own = bias[static_cast<std::size_t>(s)];
            if (rule_.mask.has_bias()) own += rule_.mask.bias_row(b_, h_, t)[s];
            if (!rule_.slopes.empty()) own -= lost_by_distance(t, s);
        }
        return bias;
    }
    SoftmaxCells cells(std::int64_t first, std::int64_t rows, std::int64_t seen, std::int64_t n) const {
        return {.rows = rows,
                .n = n,
                .allowed = causal_ ? first + 1 : seen,
                .allowed_step = causal_ ? 1 : 0,
                .most_allowed = seen,
                .keep = kept_rows(first, rows),
                .keep_stride = sizes_.keys};
    }
    /// Permissions of some rows; null if the first cells of a row are all that counts.
    const std::uint8_t* kept_rows(std::int64_t first, std::int64_t rows) const {
        if (causal_ || all_) return nullptr;
        if (rule_.mask.form() == MaskForm::Cells) return rule_.mask.keep_row(b_, h_, first);
        std::uint8_t* keep = scratch<std::uint8_t, ScratchUse::Attention>(kRows * sizes_.keys);
        rule_.mask.copy_rows(b_, h_, first, rows, keep);
        return keep;
    }
    bool rows_finite(const Scalar* x, std::int64_t rows, std::int64_t n, std::int64_t stride) const {
        return kernel_.rows_finite(x, rows, n, stride);
    }
    static std::int64_t whole_vectors(std::int64_t n, std::int64_t most) { return std::min((n + kVector - 1) / kVector * kVector, most); }

    const AttentionRule& rule_;
    const AttentionSizes& sizes_;
    bool causal_, all_;
    bool bends_ = rule_.cap > 0 || !rule_.slopes.empty() || rule_.mask.has_bias();  ///< soft cap, ALiBi or a bias applies
    std::int64_t b_, h_, g_ = h_ / sizes_.group();                                  ///< g_: key/value head
    const Kernels<Scalar>& kernel_ = kernels<Scalar>();
};

/// Some rows of one head, and their operands.
template <class Scalar>
struct HeadRows {
    const Head<Scalar>& head;
    const Operand<Scalar>&keys_across, &values;
    bool finite;  ///< all values are finite
    Scalar* block;
    std::int64_t index, first, rows, seen;  ///< index of the head among all; keys that any of the rows may see
};

/// Turns a block into weights, and copies the first `written` of each row to `map`.
template <class Scalar>
void weights_of_rows(const HeadsView<const Scalar>& q, const HeadsView<const Scalar>& k, const HeadRows<Scalar>& here, Scalar* map,
                     std::int64_t written) {
    const auto& [head, keys_across, values, finite, block, index, first, rows, seen] = here;
    Scalar largest[kRows];
    head.logits(q, keys_across, first, rows, seen, block);
    if (!head.softmax_rows(first, rows, seen, written, block, map, largest)) return;
    // Rare, so simply start over.
    head.logits(q, keys_across, first, rows, seen, block);
    head.center_rows(q, k, first, rows, largest, block);
    head.softmax_rows(first, rows, seen, written, block, map, largest);
}

/// Calls each(HeadRows) for all rows of all heads, a block at a time. `causal`: the mask is plain causal.
template <class Scalar, class Each>
void for_head_rows(const HeadsView<const Scalar>& k, const HeadsView<const Scalar>& v, const AttentionRule& rule, bool causal,
                   const AttentionSizes& sizes, const Each& each) {
    const std::int64_t queries = sizes.queries, keys = sizes.keys;
    const bool all = !causal && rule.mask.allows_everything();
    std::atomic<std::int64_t> done{0};
    const auto told = [&](std::int64_t rows) {
        if (rule.progress != nullptr && *rule.progress)
            (*rule.progress)(static_cast<double>(done += rows) / static_cast<double>(sizes.batches * sizes.heads * queries));
    };
    parallel_for(sizes.batches * sizes.heads, head_cost(sizes, 2), [&](std::int64_t bh) {
        const std::int64_t b = bh / sizes.heads, h = bh % sizes.heads, g = h / sizes.group();
        const Head<Scalar> head(rule, sizes, causal, all, b, h);
        Scalar* block = scratch<Scalar, ScratchUse::Attention>(kRows * block_stride(keys));
        const auto keys_across =
            Operand<Scalar>::template of<ScratchUse::Keys>(k.at(b, g), k.row, Transpose::Yes, sizes.head_size, keys, queries);
        const auto values =
            Operand<Scalar>::template of<ScratchUse::Values>(v.at(b, g), v.row, Transpose::No, keys, sizes.value_size, queries);
        const bool finite = all || values.finite();  // only a masked key's values need to be kept out
        for (std::int64_t first = 0; first < queries; first += kRows) {
            if (rule.stop.stop_requested()) throw Cancelled();
            const std::int64_t rows = std::min(kRows, queries - first);
            each(HeadRows<Scalar>{head, keys_across, values, finite, block, bh, first, rows, head.keys_seen(first + rows)});
            told(rows);
        }
    });
}

}  // namespace

template <class Scalar>
void fused_attention(const HeadsView<const Scalar>& q, const HeadsView<const Scalar>& k, const HeadsView<const Scalar>& v,
                     const AttentionRule& rule, const AttentionSizes& sizes, Tensor<Scalar>& weights, Tensor<Scalar>& dropped,
                     CausalZeros& zeros, const HeadsView<Scalar>& context) {
    const std::int64_t keys = sizes.keys, stride = block_stride(keys);
    const bool causal = rule.mask.is_plain_causal(), drops = rule.dropout.rate() > 0;
    weights.resize(sizes.map_shape());
    if (drops) dropped.resize(sizes.map_shape());
    const bool has_zeros = zeros.renew(weights, causal);
    for_head_rows<Scalar>(k, v, rule, causal, sizes, [&](const HeadRows<Scalar>& here) {
        const auto& [head, keys_across, values, finite, block, index, first, rows, seen] = here;
        const std::int64_t at = (index * sizes.queries + first) * keys;
        Scalar* map = weights.data() + at;
        const std::int64_t written = has_zeros ? seen : keys;
        weights_of_rows(q, k, here, map, written);
        if (drops) dropout_part(rule.dropout, map, at, rows * keys, dropped.data() + at);
        if (drops) head.mix(dropped.data() + at, keys, values, finite, first, rows, seen, context);
        else head.mix(block, stride, values, finite, first, rows, seen, context);
    });
}

template <class Scalar>
void fused_context(const HeadsView<const Scalar>& q, const HeadsView<const Scalar>& k, const HeadsView<const Scalar>& v,
                   const AttentionRule& rule, const AttentionSizes& sizes, const HeadsView<Scalar>& context) {
    for_head_rows<Scalar>(k, v, rule, rule.mask.is_plain_causal(), sizes, [&](const HeadRows<Scalar>& here) {
        weights_of_rows<Scalar>(q, k, here, nullptr, 0);
        here.head.mix(here.block, block_stride(sizes.keys), here.values, here.finite, here.first, here.rows, here.seen, context);
    });
}

template <class Scalar>
void attention_without_maps(const HeadsView<const Scalar>& q, const HeadsView<const Scalar>& k, const HeadsView<const Scalar>& v,
                            const AttentionRule& rule, const AttentionSizes& sizes, const HeadsView<Scalar>& context) {
    for_head_rows<Scalar>(k, v, rule, rule.mask.is_plain_causal(), sizes, [&](const HeadRows<Scalar>& here) {
        here.head.staged_weights(q, here.keys_across, here.first, here.rows, here.seen, here.block);
        here.head.mix(here.block, block_stride(sizes.keys), here.values, here.finite, here.first, here.rows, here.seen, context);
    });
}

namespace {

/// Arguments of fused_attention_backward() and what follows from them.
template <class Scalar>
struct BackwardOperands {
    const HeadsView<const Scalar>&dcontext, &q, &k, &v;
    const Tensor<Scalar>&weights, &dropped;
    const AttentionRule& rule;
    const AttentionSizes& sizes;
    const AttentionGradients<Scalar>& gradients;
    bool causal, all, drops;
    std::int64_t stride;
};

/// One query head. The first head of a group sets the gradients of the shared keys and values; the others add to them.
template <class Scalar>
void head_backward(const BackwardOperands<Scalar>& o, std::int64_t b, std::int64_t h) {
    const AttentionSizes& sizes = o.sizes;
    const std::int64_t queries = sizes.queries, keys = sizes.keys, d = sizes.head_size, dv = sizes.value_size, stride = o.stride;
    const std::int64_t g = h / sizes.group(), bh = b * sizes.heads + h;
    const bool first_of_group = h % sizes.group() == 0;
    const Head<Scalar> head(o.rule, sizes, o.causal, o.all, b, h);
    const std::int64_t block_rows = rows_of_a_block(queries, stride), last = (queries - 1) / block_rows * block_rows;
    Scalar* dmap = scratch<Scalar, ScratchUse::Attention>(block_rows * stride);
    for (std::int64_t s = queries > 0 ? head.keys_seen(queries) : 0; first_of_group && s < keys; ++s) {
        std::fill_n(o.gradients.dk.at(b, g, s), d, Scalar{0});
        std::fill_n(o.gradients.dv.at(b, g, s), dv, Scalar{0});
    }
    const auto packed_keys = Operand<Scalar>::template of<ScratchUse::Keys>(o.k.at(b, g), o.k.row, Transpose::No, keys, d, queries);
    const auto values_across = Operand<Scalar>::template of<ScratchUse::Values>(o.v.at(b, g), o.v.row, Transpose::Yes, dv, keys, queries);
    const bool keys_finite = packed_keys.finite(), caps = o.rule.cap > 0;
    Scalar* const capped = caps ? scratch<Scalar, ScratchUse::Capped>(kRows * stride) : nullptr;
    const auto keys_across =
        caps ? Operand<Scalar>::template of<ScratchUse::KeysAcross>(o.k.at(b, g), o.k.row, Transpose::Yes, d, keys, queries)
             : Operand<Scalar>{};
    // Starts with the last block: it sees the most keys, so it sets every dk and dv that the other blocks add to.
    for (std::int64_t block = queries > 0 ? last : -1; block >= 0; block -= block_rows) {
        const std::int64_t end = std::min(block + block_rows, queries);
        for (std::int64_t first = block; first < end; first += kRows) {
            const std::int64_t rows = std::min(kRows, end - first), seen = head.keys_seen(first + rows);
            const std::int64_t at = (bh * queries + first) * keys;
            Scalar* dp = dmap + (first - block) * stride;
            values_across.multiply({.m = rows,
                                    .n = head.computed(seen),
                                    .k = dv,
                                    .a = o.dcontext.at(b, h, first),
                                    .lda = o.dcontext.row,
                                    .c = dp,
                                    .ldc = stride});
            if (o.drops)
                for (std::int64_t r = 0; r < rows; ++r) dropout_part(o.rule.dropout, dp + r * stride, at + r * keys, seen, dp + r * stride);
            head.softmax_backward_rows(first, rows, seen, o.weights.data() + at, dp);
            if (caps) head.uncap(o.q, keys_across, first, rows, seen, capped, dp);
            head.product(
                packed_keys,
                {.m = rows, .n = d, .k = seen, .a = dp, .lda = stride, .c = o.gradients.dq.at(b, h, first), .ldc = o.gradients.dq.row},
                first, 0, keys_finite);
        }
        const bool adds = block < last || !first_of_group;
        const Scalar* kept = (o.drops ? o.dropped : o.weights).data() + (bh * queries + block) * keys;
        head.sum_by_key(kept, keys, o.dcontext, dv, block, end - block, adds, o.gradients.dv);
        head.sum_by_key(dmap, stride, o.q, d, block, end - block, adds, o.gradients.dk);
    }
}

}  // namespace

template <class Scalar>
void fused_attention_backward(const HeadsView<const Scalar>& dcontext, const HeadsView<const Scalar>& q, const HeadsView<const Scalar>& k,
                              const HeadsView<const Scalar>& v, const Tensor<Scalar>& weights, const Tensor<Scalar>& dropped,
                              const AttentionRule& rule, const AttentionSizes& sizes, const AttentionGradients<Scalar>& gradients) {
    const bool causal = rule.mask.is_plain_causal(), all = !causal && rule.mask.allows_everything(), drops = rule.dropout.rate() > 0;
    const BackwardOperands<Scalar> operands{
        dcontext, q, k, v, weights, dropped, rule, sizes, gradients, causal, all, drops, block_stride(sizes.keys)};
    const std::int64_t group = sizes.group();
    parallel_for(sizes.batches * sizes.key_heads, group * head_cost(sizes, 4), [&](std::int64_t bg) {
        const std::int64_t b = bg / sizes.key_heads, g = bg % sizes.key_heads;
        for (std::int64_t h = g * group; h < (g + 1) * group; ++h) head_backward(operands, b, h);
    });
}

#define ATTN_INSTANTIATE(Scalar)                                                                                                           \
    template void fused_context<Scalar>(const HeadsView<const Scalar>&, const HeadsView<const Scalar>&, const HeadsView<const Scalar>&,    \
                                        const AttentionRule&, const AttentionSizes&, const HeadsView<Scalar>&);                            \
    template void fused_attention<Scalar>(const HeadsView<const Scalar>&, const HeadsView<const Scalar>&, const HeadsView<const Scalar>&,  \
                                          const AttentionRule&, const AttentionSizes&, Tensor<Scalar>&, Tensor<Scalar>&, CausalZeros&,     \
                                          const HeadsView<Scalar>&);                                                                       \
    template void attention_without_maps<Scalar>(const HeadsView<const Scalar>&, const HeadsView<const Scalar>&,                           \
                                                 const HeadsView<const Scalar>&, const AttentionRule&, const AttentionSizes&,              \
                                                 const HeadsView<Scalar>&);                                                                \
    template void fused_attention_backward<Scalar>(                                                                                        \
        const HeadsView<const Scalar>&, const HeadsView<const Scalar>&, const HeadsView<const Scalar>&, const HeadsView<const Scalar>&,    \
        const Tensor<Scalar>&, const Tensor<Scalar>&, const AttentionRule&, const AttentionSizes&, const AttentionGradients<Scalar>&);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn
