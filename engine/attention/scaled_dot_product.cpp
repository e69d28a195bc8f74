#include "engine/attention/scaled_dot_product.hpp"

#include <algorithm>
#include <limits>

#include "engine/attention/large_logits.hpp"
#include "engine/attention/shielded_product.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

/// Cost of one head's product in parallel_for()'s units.
std::int64_t product_cost(std::int64_t m, std::int64_t n, std::int64_t k) { return 1 + m * n * k / 32; }

/// out = map rows for every head; forbidden pairs are ignored.
///   map [B,H,T,S]  rows [B,G,S,D]  ->  out [B,H,T,D]
template <class Scalar>
void multiply_allowed_rows(const Tensor<Scalar>& map, const Tensor<Scalar>& rows, std::int64_t d, const Mask& mask,
                           const AttentionSizes& sizes, Tensor<Scalar>& out) {
    const Kernels<Scalar>& kernel = kernels<Scalar>();
    const std::int64_t t = sizes.queries, s = sizes.keys;
    out.resize({{Axis::B, sizes.batches}, {Axis::H, sizes.heads}, {Axis::T, t}, {Axis::D, d}});
    parallel_for(sizes.batches * sizes.heads, product_cost(t, d, s), [&](std::int64_t bh) {
        const Scalar *p = map.data() + bh * t * s, *r = rows.data() + sizes.key_head(bh) * s * d;
        Scalar* to = out.data() + bh * t * d;
        const GemmArguments<Scalar> product{.m = t, .n = d, .k = s, .a = p, .lda = s, .b = r, .ldb = d, .c = to, .ldc = d};
        if (kernel.all_finite(r, s * d)) return gemm(product);
        shielded_product(
            product, [&](std::int64_t query, std::int64_t key) { return mask.may_attend(bh / sizes.heads, bh % sizes.heads, query, key); });
    });
}

/// out = map^T rows for every head, summed over the query heads that share a key/value head; forbidden pairs are ignored.
///   map [B,H,T,S]  rows [B,H,T,D]  ->  out [B,G,S,D]
template <class Scalar>
void multiply_transposed(const Tensor<Scalar>& map, const Tensor<Scalar>& rows, std::int64_t d, const Mask& mask,
                         const AttentionSizes& sizes, Tensor<Scalar>& out) {
    const Kernels<Scalar>& kernel = kernels<Scalar>();
    const std::int64_t t = sizes.queries, s = sizes.keys, group = sizes.group();
    out.resize({{Axis::B, sizes.batches}, {group > 1 ? Axis::G : Axis::H, sizes.key_heads}, {Axis::S, s}, {Axis::D, d}});
    parallel_for(sizes.batches * sizes.key_heads, group * product_cost(t, d, s), [&](std::int64_t bg) {
        for (std::int64_t bh = bg * group; bh < (bg + 1) * group; ++bh) {
            const GemmArguments<Scalar> product{.m = s,
                                                .n = d,
                                                .k = t,
                                                .a = map.data() + bh * t * s,
                                                .lda = s,
                                                .b = rows.data() + bh * t * d,
                                                .ldb = d,
                                                .c = out.data() + bg * s * d,
                                                .ldc = d,
                                                .transpose_a = Transpose::Yes,
                                                .accumulate = bh > bg * group};
            if (kernel.all_finite(product.b, t * d)) gemm(product);
            else
                shielded_product(product, [&](std::int64_t key, std::int64_t query) {
                    return mask.may_attend(bh / sizes.heads, bh % sizes.heads, query, key);
                });
        }
    });
}

/// map = a b^T for every head.
///   a [B,H,T,D]  b [B,G,S,D]  ->  map [B,H,T,S]
template <class Scalar>
void multiply_pairs(const Tensor<Scalar>& a, const Tensor<Scalar>& b, std::int64_t d, const AttentionSizes& sizes, Tensor<Scalar>& map) {
    const std::int64_t t = sizes.queries, s = sizes.keys;
    map.resize(sizes.map_shape());
    parallel_for(sizes.batches * sizes.heads, product_cost(t, s, d), [&](std::int64_t bh) {
        gemm<Scalar>({.m = t,
                      .n = s,
                      .k = d,
                      .a = a.data() + bh * t * d,
                      .lda = d,
                      .b = b.data() + sizes.key_head(bh) * s * d,
                      .ldb = d,
                      .c = map.data() + bh * t * s,
                      .ldc = s,
                      .transpose_b = Transpose::Yes});
    });
}

}  // namespace

Shape AttentionSizes::map_shape() const { return {{Axis::B, batches}, {Axis::H, heads}, {Axis::T, queries}, {Axis::S, keys}}; }
Shape AttentionSizes::context_shape() const { return {{Axis::B, batches}, {Axis::H, heads}, {Axis::T, queries}, {Axis::D, value_size}}; }

template <class Scalar>
AttentionSizes attention_sizes(const Tensor<Scalar>& q, const Tensor<Scalar>& k, const Tensor<Scalar>& v) {
    for (const Tensor<Scalar>* tensor : {&q, &k, &v})
        if (tensor->shape().rank() != 4)
            throw ShapeError("attention needs q, k and v of four axes [B,H,T,D], not " + tensor->shape().text());
    const auto size = [](const Tensor<Scalar>& tensor, int axis) { return tensor.shape()[axis].size; };
    if (size(q, 0) != size(k, 0) || size(k, 1) == 0 || size(q, 1) % size(k, 1) != 0 || size(q, 3) != size(k, 3))
        throw ShapeError("q " + q.shape().text() + " and k " + k.shape().text() + " must agree in batch, heads and head size");
    if (size(k, 0) != size(v, 0) || size(k, 1) != size(v, 1) || size(k, 2) != size(v, 2))
        throw ShapeError("k " + k.shape().text() + " and v " + v.shape().text() + " must agree in batch, heads and positions");
    if (size(q, 3) == 0) throw ShapeError("a head of size 0 cannot attend: q is " + q.shape().text());
    return {size(q, 0), size(q, 1), size(q, 2), size(k, 2), size(q, 3), size(v, 3), size(k, 1)};
}

void require_mask_fits(const Mask& mask, const AttentionSizes& sizes) {
    const bool fits = (mask.batches() == 1 || mask.batches() == sizes.batches) && (mask.heads() == 1 || mask.heads() == sizes.heads) &&
                      mask.queries() == sizes.queries && mask.keys() == sizes.keys;
    if (fits) return;
    const Shape shape{{Axis::B, mask.batches()}, {Axis::H, mask.heads()}, {Axis::T, mask.queries()}, {Axis::S, mask.keys()}};
    throw ShapeError("a mask of shape " + shape.text() + " does not fit scores of shape " + sizes.map_shape().text());
}

template <class Scalar>
void attention_scores(const Tensor<Scalar>& q, const Tensor<Scalar>& k, const AttentionSizes& sizes, Tensor<Scalar>& scores) {
    multiply_pairs(q, k, sizes.head_size, sizes, scores);
}

template <class Scalar>
void attention_scores_backward(const Tensor<Scalar>& dscores, const Tensor<Scalar>& q, const Tensor<Scalar>& k, const Mask& mask,
                               const AttentionSizes& sizes, Tensor<Scalar>& dq, Tensor<Scalar>& dk) {
    multiply_allowed_rows(dscores, k, sizes.head_size, mask, sizes, dq);
    multiply_transposed(dscores, q, sizes.head_size, mask, sizes, dk);
}

template <class Scalar>
void scale_scores(const Tensor<Scalar>& scores, double factor, Tensor<Scalar>& scaled) {
    const Kernels<Scalar>& kernel = kernels<Scalar>();
    scaled.resize(scores.shape());
    parallel_ranges(scores.size(), 64, 1, [&](std::int64_t first, std::int64_t last) {
        kernel.scale(scores.data() + first, static_cast<Scalar>(factor), last - first, scaled.data() + first);
    });
}

namespace {

/// Calls f(b, h, t, offset of the row in a map) for every row of a map.
template <class F>
void for_map_rows(const AttentionSizes& sizes, std::int64_t cost, const F& f) {
    parallel_for(sizes.batches * sizes.heads * sizes.queries, cost * sizes.keys, [&](std::int64_t row) {
        const std::int64_t t = row % sizes.queries, bh = row / sizes.queries;
        f(bh / sizes.heads, bh % sizes.heads, t, row * sizes.keys);
    });
}

}  // namespace

template <class Scalar>
void mask_scores(const Tensor<Scalar>& scaled, const Mask& mask, const AttentionSizes& sizes, Tensor<Scalar>& masked) {
    masked.resize(scaled.shape());
    for_map_rows(sizes, 1, [&](std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t at) {
        const std::uint8_t* keep = mask.keep_row(b, h, t);
        const double* bias = mask.has_bias() ? mask.bias_row(b, h, t) : nullptr;
        const Scalar* in = scaled.data() + at;
        Scalar* out = masked.data() + at;
        constexpr Scalar kForbidden = -std::numeric_limits<Scalar>::infinity();
        if (bias == nullptr)
            for (std::int64_t s = 0; s < sizes.keys; ++s) out[s] = keep[s] != 0 ? in[s] : kForbidden;
        else
            for (std::int64_t s = 0; s < sizes.keys; ++s) out[s] = keep[s] != 0 ? in[s] + static_cast<Scalar>(bias[s]) : kForbidden;
    });
}

template <class Scalar>
void attention_weights(const Tensor<Scalar>& masked, const Mask& mask, double temperature, const AttentionSizes& sizes,
                       Tensor<Scalar>& weights) {
    const Kernels<Scalar>& kernel = kernels<Scalar>();
    const bool all = mask.allows_everything();
    weights.resize(masked.shape());
    for_map_rows(sizes, 4, [&](std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t at) {
        kernel.softmax_row(masked.data() + at, all ? nullptr : mask.keep_row(b, h, t), sizes.keys, static_cast<Scalar>(temperature),
                           weights.data() + at);
    });
}

template <class Scalar>
void precise_attention_weights(const Tensor<Scalar>& q, const Tensor<Scalar>& k, double factor, const Tensor<Scalar>& masked,
                               const Mask& mask, double temperature, const AttentionSizes& sizes, Tensor<Scalar>& weights) {
    attention_weights(masked, mask, temperature, sizes, weights);
    const Kernels<Scalar>& kernel = kernels<Scalar>();
    const std::int64_t keys = sizes.keys, size = sizes.head_size;
    for_map_rows(sizes, 4, [&](std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t at) {
        const std::uint8_t* keep = mask.keep_row(b, h, t);
        const Scalar* logits = masked.data() + at;
        Scalar largest = -std::numeric_limits<Scalar>::infinity();
        for (std::int64_t s = 0; s < keys; ++s)
            if (keep[s] != 0) largest = std::max(largest, logits[s] / static_cast<Scalar>(temperature));
        if (!is_large_logit(largest)) return;
        const std::int64_t head = b * sizes.heads + h;
        Scalar* row = weights.data() + at;
        std::copy_n(logits, keys, row);
        center_large_logits({q.data() + (head * sizes.queries + t) * size, k.data() + sizes.key_head(head) * keys * size, size, size,
                             mask.has_bias() ? mask.bias_row(b, h, t) : nullptr, factor, temperature},
                            keys, keep, row);
        kernel.softmax_row(row, keep, keys, static_cast<Scalar>(temperature), row);
    });
}

template <class Scalar>
void attention_weights_backward(const Tensor<Scalar>& dweights, const Tensor<Scalar>& weights, const Mask& mask, double temperature,
                                const AttentionSizes& sizes, Tensor<Scalar>& dmasked) {
    const Kernels<Scalar>& kernel = kernels<Scalar>();
    const bool all = mask.allows_everything();
    const Scalar factor = static_cast<Scalar>(1 / temperature);
    dmasked.resize(weights.shape());
    for_map_rows(sizes, 2, [&](std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t at) {
        kernel.softmax_backward_row(weights.data() + at, dweights.data() + at, all ? nullptr : mask.keep_row(b, h, t), sizes.keys, factor,
                                    dmasked.data() + at);
    });
}

template <class Scalar>
void attention_context(const Tensor<Scalar>& dropped, const Tensor<Scalar>& v, const Mask& mask, const AttentionSizes& sizes,
                       Tensor<Scalar>& context) {
    multiply_allowed_rows(dropped, v, sizes.value_size, mask, sizes, context);
}

template <class Scalar>
void attention_context_backward(const Tensor<Scalar>& dcontext, const Tensor<Scalar>& dropped, const Tensor<Scalar>& v, const Mask& mask,
                                const AttentionSizes& sizes, Tensor<Scalar>& ddropped, Tensor<Scalar>& dv) {
    multiply_pairs(dcontext, v, sizes.value_size, sizes, ddropped);
    for_map_rows(sizes, 1, [&](std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t at) {
        const std::uint8_t* keep = mask.keep_row(b, h, t);
        Scalar* row = ddropped.data() + at;
        for (std::int64_t s = 0; s < sizes.keys; ++s) row[s] = keep[s] != 0 ? row[s] : Scalar{0};
    });
    multiply_transposed(dropped, dcontext, sizes.value_size, mask, sizes, dv);
}

#define ATTN_INSTANTIATE(Scalar)                                                                                                           \
    template AttentionSizes attention_sizes<Scalar>(const Tensor<Scalar>&, const Tensor<Scalar>&, const Tensor<Scalar>&);                  \
    template void attention_scores<Scalar>(const Tensor<Scalar>&, const Tensor<Scalar>&, const AttentionSizes&, Tensor<Scalar>&);          \
    template void scale_scores<Scalar>(const Tensor<Scalar>&, double, Tensor<Scalar>&);                                                    \
    template void mask_scores<Scalar>(const Tensor<Scalar>&, const Mask&, const AttentionSizes&, Tensor<Scalar>&);                         \
    template void attention_weights<Scalar>(const Tensor<Scalar>&, const Mask&, double, const AttentionSizes&, Tensor<Scalar>&);           \
    template void precise_attention_weights<Scalar>(const Tensor<Scalar>&, const Tensor<Scalar>&, double, const Tensor<Scalar>&,           \
                                                    const Mask&, double, const AttentionSizes&, Tensor<Scalar>&);                          \
    template void attention_context<Scalar>(const Tensor<Scalar>&, const Tensor<Scalar>&, const Mask&, const AttentionSizes&,              \
                                            Tensor<Scalar>&);                                                                              \
    template void attention_scores_backward<Scalar>(const Tensor<Scalar>&, const Tensor<Scalar>&, const Tensor<Scalar>&, const Mask&,      \
                                                    const AttentionSizes&, Tensor<Scalar>&, Tensor<Scalar>&);                              \
    template void attention_weights_backward<Scalar>(const Tensor<Scalar>&, const Tensor<Scalar>&, const Mask&, double,                    \
                                                     const AttentionSizes&, Tensor<Scalar>&);                                              \
    template void attention_context_backward<Scalar>(const Tensor<Scalar>&, const Tensor<Scalar>&, const Tensor<Scalar>&, const Mask&,     \
                                                     const AttentionSizes&, Tensor<Scalar>&, Tensor<Scalar>&);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn
