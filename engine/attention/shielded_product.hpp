#pragma once
/// Products of an attention map with rows that are not all finite: pairs forbidden by the mask contribute nothing, not even 0 times NaN.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/ops/gemm.hpp"

namespace attn {

/// The product `g` of a map's cells, 0 where forbidden, with the rows of B, which is not transposed. Elements that no infinite or NaN row
/// may reach get the same bits as without it. Slow, for the rare case only: it copies B.
///   allows(i, p): whether element (i,p) of op(A) is a cell that may attend
template <class Scalar, class Allows>
void shielded_product(GemmArguments<Scalar> g, const Allows& allows) {
    const Kernels<Scalar>& kernel = kernels<Scalar>();
    const Scalar* rows = g.b;
    const std::int64_t stride = g.ldb;
    std::vector<Scalar> clean(static_cast<std::size_t>(g.k * g.n));
    std::vector<std::int64_t> bad;
    for (std::int64_t p = 0; p < g.k; ++p) {
        if (kernel.all_finite(rows + p * stride, g.n)) std::copy_n(rows + p * stride, g.n, clean.begin() + p * g.n);
        else bad.push_back(p);
    }
    g.packed_b = nullptr;
    g.b = clean.data();
    g.ldb = g.n;
    gemm(g);
    for (std::int64_t i = 0; i < g.m; ++i)
        for (const std::int64_t p : bad) {
            if (!allows(i, p)) continue;
            const Scalar weight = g.alpha * (g.transpose_a == Transpose::Yes ? g.a[p * g.lda + i] : g.a[i * g.lda + p]);
            for (std::int64_t j = 0; j < g.n; ++j) g.c[i * g.ldc + j] += weight * rows[p * stride + j];
        }
}

}  // namespace attn
