#include "engine/attention/softmax_over_queries.hpp"

#include <vector>

#include "engine/kernels/kernels.hpp"
#include "engine/ops/parallel.hpp"

namespace attn {
namespace {

/// Calls f(bh, s, keep) for every column s of every head; keep[t] tells whether query t may attend to it.
template <class F>
void for_columns(const Mask& mask, const AttentionSizes& sizes, const F& f) {
    parallel_for(sizes.batches * sizes.heads, 8 * sizes.queries * sizes.keys, [&](std::int64_t bh) {
        std::vector<std::uint8_t> keep(static_cast<std::size_t>(sizes.queries));
        for (std::int64_t s = 0; s < sizes.keys; ++s) {
            for (std::int64_t t = 0; t < sizes.queries; ++t)
                keep[static_cast<std::size_t>(t)] = mask.may_attend(bh / sizes.heads, bh % sizes.heads, t, s);
            f(bh, s, keep);
        }
    });
}

/// Column s of one head's map.
template <class Scalar>
std::vector<Scalar> column(const Tensor<Scalar>& map, std::int64_t bh, std::int64_t s, const AttentionSizes& sizes) {
    std::vector<Scalar> out(static_cast<std::size_t>(sizes.queries));
    for (std::int64_t t = 0; t < sizes.queries; ++t)
        out[static_cast<std::size_t>(t)] = map.data()[(bh * sizes.queries + t) * sizes.keys + s];
    return out;
}

template <class Scalar>
void set_column(Tensor<Scalar>& map, std::int64_t bh, std::int64_t s, const AttentionSizes& sizes, const std::vector<Scalar>& values) {
    for (std::int64_t t = 0; t < sizes.queries; ++t)
        map.data()[(bh * sizes.queries + t) * sizes.keys + s] = values[static_cast<std::size_t>(t)];
}

}  // namespace

template <class Scalar>
void softmax_over_queries(const Tensor<Scalar>& masked, const Mask& mask, double temperature, const AttentionSizes& sizes,
                          Tensor<Scalar>& weights) {
    const Kernels<Scalar>& kernel = kernels<Scalar>();
    weights.resize(masked.shape());
    for_columns(mask, sizes, [&](std::int64_t bh, std::int64_t s, const std::vector<std::uint8_t>& keep) {
        const std::vector<Scalar> x = column(masked, bh, s, sizes);
        std::vector<Scalar> p(x.size());
        kernel.softmax_row(x.data(), keep.data(), sizes.queries, static_cast<Scalar>(temperature), p.data());
        set_column(weights, bh, s, sizes, p);
    });
}

template <class Scalar>
void softmax_over_queries_backward(const Tensor<Scalar>& dweights, const Tensor<Scalar>& weights, const Mask& mask, double temperature,
                                   const AttentionSizes& sizes, Tensor<Scalar>& dmasked) {
    const Kernels<Scalar>& kernel = kernels<Scalar>();
    dmasked.resize(weights.shape());
    for_columns(mask, sizes, [&](std::int64_t bh, std::int64_t s, const std::vector<std::uint8_t>& keep) {
        const std::vector<Scalar> p = column(weights, bh, s, sizes), dp = column(dweights, bh, s, sizes);
        std::vector<Scalar> dx(p.size());
        kernel.softmax_backward_row(p.data(), dp.data(), keep.data(), sizes.queries, static_cast<Scalar>(1 / temperature), dx.data());
        set_column(dmasked, bh, s, sizes, dx);
    });
}

#define ATTN_INSTANTIATE(Scalar)                                                                                                           \
    template void softmax_over_queries<Scalar>(const Tensor<Scalar>&, const Mask&, double, const AttentionSizes&, Tensor<Scalar>&);        \
    template void softmax_over_queries_backward<Scalar>(const Tensor<Scalar>&, const Tensor<Scalar>&, const Mask&, double,                 \
                                                        const AttentionSizes&, Tensor<Scalar>&);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn
