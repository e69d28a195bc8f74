/// The matrix product of every kernel build against plain loops.

#include "engine/tensor/tensor.hpp"
#include "tests/engine/kernels_of.hpp"

namespace attn {
namespace {

template <class Scalar>
class GemmOf : public test::KernelsOf<Scalar> {};
TYPED_TEST_SUITE(GemmOf, test::Scalars);

/// The product by plain loops in double, with the sums of the terms' magnitudes, which bound the rounding. All builds share it: the loops
/// take far longer than the kernels.
struct PlainProduct {
    std::vector<double> sums, sizes;
};

template <class Scalar>
PlainProduct plain_product(const GemmArguments<Scalar>& g) {
    const auto a = [&](std::int64_t i, std::int64_t p) -> double {
        return g.transpose_a == Transpose::Yes ? g.a[p * g.lda + i] : g.a[i * g.lda + p];
    };
    const auto b = [&](std::int64_t p, std::int64_t j) -> double {
        return g.transpose_b == Transpose::Yes ? g.b[j * g.ldb + p] : g.b[p * g.ldb + j];
    };
    PlainProduct out;
    for (std::int64_t i = 0; i < g.m; ++i)
        for (std::int64_t j = 0; j < g.n; ++j) {
            double sum = 0, size = 1;
            for (std::int64_t p = 0; p < g.k; ++p) sum += a(i, p) * b(p, j), size += std::abs(a(i, p) * b(p, j));
            out.sums.push_back(sum), out.sizes.push_back(size);
        }
    return out;
}

/// `plain`: that of these operands; computed if it is empty.
template <class Scalar>
void check_gemm(const Kernels<Scalar>& kernel, const GemmArguments<Scalar>& g, const std::vector<Scalar>& before, std::int64_t guard,
                PlainProduct& plain) {
    constexpr std::size_t kGuard = 64;
    AlignedVector<Scalar> scratch(static_cast<std::size_t>(kernel.gemm_scratch) + kGuard, Scalar{7});
    kernel.gemm(g, scratch.data());
    for (std::size_t i = scratch.size() - kGuard; i < scratch.size(); ++i) ASSERT_EQ(scratch[i], 7) << "wrote beyond its work space";
    if (plain.sums.empty()) plain = plain_product(g);
    for (std::int64_t i = 0; i < g.m; ++i) {
        for (std::int64_t j = 0; j < g.n; ++j) {
            const auto cell = static_cast<std::size_t>(i * g.n + j);
            const double sum = plain.sums[cell], size = plain.sizes[cell];
            double start = 0;
            if (g.accumulate) start = before[static_cast<std::size_t>(i * g.ldc + j)];
            if (g.bias != nullptr) start += g.bias[j];
            if (g.plus != nullptr) start += g.plus[i * g.ldc + j];
            const double factor = g.times == nullptr ? 1 : g.times[i * g.ldc + j];
            const double tolerance = 2 * std::numeric_limits<Scalar>::epsilon() * (size * std::abs(g.alpha) + std::abs(start)) *
                                     std::abs(factor) * std::sqrt(g.k + 1.0);
            const double got = g.c[i * g.ldc + j];
            ASSERT_TRUE(std::abs(got - (static_cast<double>(g.alpha) * sum + start) * factor) <= tolerance)
                << "[" << g.m << "," << g.n << "," << g.k << "] at " << i << "," << j << ": " << got;
        }
        for (std::int64_t j = g.n; j < g.n + guard; ++j)
            ASSERT_EQ(g.c[i * g.ldc + j], before[static_cast<std::size_t>(i * g.ldc + j)]) << "wrote beside the row";
    }
}

TYPED_TEST(GemmOf, EqualsPlainLoops) {
    for (int round = 0; round < 60; ++round) {
        const std::int64_t m = this->size_up_to(round % 3 == 0 ? 150 : 30), n = this->size_up_to(round % 4 == 0 ? 1100 : 70),
                           k = this->size_up_to(round % 5 == 0 ? 900 : 40);
        const bool ta = round % 2 == 1, tb = (round / 2) % 2 == 1, accumulate = (round / 4) % 2 == 1, biased = (round / 8) % 2 == 1;
        const std::int64_t lda = (ta ? m : k) + round % 3, ldb = (tb ? k : n) + round % 2, guard = 3;
        const auto a = this->draw((ta ? k : m) * lda), b = this->draw((tb ? n : k) * ldb), bias = this->draw(n);
        const auto before = this->draw(m * (n + guard));
        PlainProduct plain;
        this->on_every_build([&](const Kernels<TypeParam>& kernel) {
            std::vector<TypeParam> c = before;
            check_gemm<TypeParam>(kernel,
                                  {.m = m,
                                   .n = n,
                                   .k = k,
                                   .alpha = static_cast<TypeParam>(round % 7 == 0 ? 0.5 : 1),
                                   .a = a.data(),
                                   .lda = lda,
                                   .b = b.data(),
                                   .ldb = ldb,
                                   .c = c.data(),
                                   .ldc = n + guard,
                                   .transpose_a = ta ? Transpose::Yes : Transpose::No,
                                   .transpose_b = tb ? Transpose::Yes : Transpose::No,
                                   .accumulate = accumulate,
                                   .bias = biased && !accumulate ? bias.data() : nullptr},
                                  before, guard, plain);
        });
    }
}

TYPED_TEST(GemmOf, OfAPackedOperandEqualsPlainLoops) {
    constexpr std::size_t kGuard = 64;
    for (int round = 0; round < 60; ++round) {
        const std::int64_t m = this->size_up_to(round % 3 == 0 ? 150 : 30), whole_n = this->size_up_to(round % 4 == 0 ? 700 : 150),
                           whole_k = this->size_up_to(round % 5 == 0 ? 900 : 40);
        // Some products use only the first rows and columns, and some columns from a multiple of the grain on.
        const std::int64_t k = round % 2 == 0 ? whole_k : this->size_up_to(whole_k);
        const std::int64_t first = round % 3 == 1 ? (this->size_up_to(whole_n) - 1) / kPackedGrain * kPackedGrain : 0;
        const std::int64_t n = round % 2 == 0 ? whole_n - first : this->size_up_to(whole_n - first);
        const bool tb = (round / 2) % 2 == 1, plussed = (round / 4) % 2 == 1, scaled = (round / 8) % 2 == 1;
        const std::int64_t ldb = (tb ? whole_k : whole_n) + round % 2, guard = 3, ldc = n + guard;
        const auto a = this->draw(m * k), b = this->draw((tb ? whole_n : whole_k) * ldb), bias = this->draw(n);
        const auto before = this->draw(m * ldc), plus = this->draw(m * ldc), times = this->draw(m * ldc);
        PlainProduct plain;
        this->on_every_build([&](const Kernels<TypeParam>& kernel) {
            const std::size_t size = static_cast<std::size_t>(kernel.packed_size(whole_k, whole_n));
            AlignedVector<TypeParam> packed(size + kGuard, TypeParam{7});
            kernel.pack_b(b.data(), ldb, tb ? Transpose::Yes : Transpose::No, whole_k, whole_n, packed.data());
            for (std::size_t i = size; i < packed.size(); ++i) ASSERT_EQ(packed[i], 7) << "wrote beyond the packed operand";
            std::vector<TypeParam> c = before;
            check_gemm<TypeParam>(kernel,
                                  {.m = m,
                                   .n = n,
                                   .k = k,
                                   .a = a.data(),
                                   .lda = k,
                                   .b = b.data() + (tb ? first * ldb : first),
                                   .ldb = ldb,
                                   .c = c.data(),
                                   .ldc = ldc,
                                   .transpose_b = tb ? Transpose::Yes : Transpose::No,
                                   .bias = bias.data(),
                                   .plus = plussed ? plus.data() : nullptr,
                                   .times = scaled ? times.data() : nullptr,
                                   .packed_b = packed.data() + first * whole_k,
                                   .packed_k = whole_k,
                                   .packed_n = whole_n - first},
                                  before, guard, plain);
        });
    }
}

TYPED_TEST(GemmOf, OfRowsAPowerOfTwoApartEqualsPlainLoops) {
    const std::int64_t m = 61, n = 1030, k = 1024;
    const auto a = this->draw(m * k), b = this->draw(k * 2048);
    PlainProduct plain;
    this->on_every_build([&](const Kernels<TypeParam>& kernel) {
        std::vector<TypeParam> c(static_cast<std::size_t>(m * n));
        check_gemm<TypeParam>(
            kernel, {.m = m, .n = n, .k = k, .a = a.data(), .lda = k, .b = b.data(), .ldb = 2048, .c = c.data(), .ldc = n}, c, 0, plain);
    });
}

/// As for weight gradients: sizes around a tile, around the rows kept in cache, and around a pass over k.
TYPED_TEST(GemmOf, OfTwoOperandsThatArePackedEqualsPlainLoops) {
    struct Size {
        std::int64_t m, n, k;
    };
    for (const Size& size : {Size{49, 300, 70}, Size{100, 257, 800}, Size{61, 64, 385}, Size{384, 390, 24}, Size{383, 385, 1},
                             Size{385, 400, 20}, Size{130, 65, 400}, Size{96, 576, 769}}) {
        const std::int64_t lda = size.m + 5, ldb = size.n + 300, guard = 3, ldc = size.n + guard;
        const auto a = this->draw(size.k * lda), b = this->draw(size.k * ldb), before = this->draw(size.m * ldc);
        PlainProduct plain;
        for (const bool accumulate : {false, true})
            this->on_every_build([&](const Kernels<TypeParam>& kernel) {
                std::vector<TypeParam> c = before;
                check_gemm<TypeParam>(kernel,
                                      {.m = size.m,
                                       .n = size.n,
                                       .k = size.k,
                                       .a = a.data(),
                                       .lda = lda,
                                       .b = b.data(),
                                       .ldb = ldb,
                                       .c = c.data(),
                                       .ldc = ldc,
                                       .transpose_a = Transpose::Yes,
                                       .accumulate = accumulate},
                                      before, guard, plain);
            });
    }
}

TYPED_TEST(GemmOf, AddsAMatrix) {
    for (const std::int64_t n : {1, 15, 32, 50, 130})
        for (const std::int64_t k : {1, 7, 500}) {
            const std::int64_t m = 29, guard = 2;
            const auto a = this->draw(m * k), b = this->draw(k * n), bias = this->draw(n), plus = this->draw(m * (n + guard));
            const auto before = this->draw(m * (n + guard));
            PlainProduct plain;
            this->on_every_build([&](const Kernels<TypeParam>& kernel) {
                for (const TypeParam* with : {bias.data(), static_cast<const TypeParam*>(nullptr)}) {
                    std::vector<TypeParam> c = before;
                    check_gemm<TypeParam>(kernel,
                                          {.m = m,
                                           .n = n,
                                           .k = k,
                                           .a = a.data(),
                                           .lda = k,
                                           .b = b.data(),
                                           .ldb = n,
                                           .c = c.data(),
                                           .ldc = n + guard,
                                           .bias = with,
                                           .plus = plus.data()},
                                          before, guard, plain);
                }
            });
        }
}

TYPED_TEST(GemmOf, OfAnEmptySumIsTheBias) {
    this->on_every_build([&](const Kernels<TypeParam>& kernel) {
        AlignedVector<TypeParam> scratch(static_cast<std::size_t>(kernel.gemm_scratch));
        std::vector<TypeParam> c(6, 9), bias{1, 2, 3};
        kernel.gemm({.m = 2, .n = 3, .k = 0, .c = c.data(), .ldc = 3, .bias = bias.data()}, scratch.data());
        EXPECT_EQ(c, (std::vector<TypeParam>{1, 2, 3, 1, 2, 3}));
        kernel.gemm({.m = 0, .n = 3, .k = 4, .c = c.data(), .ldc = 3}, scratch.data());
        EXPECT_EQ(c[0], 1);
    });
}

/// The property by which splitting over threads and dividing a batch give the same bits.
TYPED_TEST(GemmOf, ElementDoesNotDependOnItsNeighbours) {
    const std::int64_t n = 83, k = 700;
    // With more than a few rows, the first tile of a panel also packs it.
    for (const std::int64_t m : {45, 115})
        for (const auto& [ta, tb] : {std::pair{Transpose::No, Transpose::No}, std::pair{Transpose::No, Transpose::Yes},
                                     std::pair{Transpose::Yes, Transpose::No}, std::pair{Transpose::Yes, Transpose::Yes}}) {
            const auto a = this->draw(m * k), b = this->draw(n * k);
            this->on_every_build([&, ta = ta, tb = tb](const Kernels<TypeParam>& kernel) {
                AlignedVector<TypeParam> scratch(static_cast<std::size_t>(kernel.gemm_scratch));
                std::vector<TypeParam> whole(static_cast<std::size_t>(m * n));
                GemmArguments<TypeParam> g{.m = m,
                                           .n = n,
                                           .k = k,
                                           .a = a.data(),
                                           .lda = ta == Transpose::Yes ? m : k,
                                           .b = b.data(),
                                           .ldb = tb == Transpose::Yes ? k : n,
                                           .c = whole.data(),
                                           .ldc = n,
                                           .transpose_a = ta,
                                           .transpose_b = tb};
                kernel.gemm(g, scratch.data());
                for (std::int64_t i = 0; i < m; i += 7)
                    for (std::int64_t j = 0; j < n; j += 5) {
                        TypeParam one = 0;
                        GemmArguments<TypeParam> part = g;
                        part.m = part.n = 1;
                        part.a += ta == Transpose::Yes ? i : i * g.lda;
                        part.b += tb == Transpose::Yes ? j * g.ldb : j;
                        part.c = &one;
                        kernel.gemm(part, scratch.data());
                        ASSERT_EQ(one, whole[static_cast<std::size_t>(i * n + j)]) << i << "," << j;
                    }
            });
        }
}

/// A single row uses another traversal of B; there are more columns here than it processes at once.
TYPED_TEST(GemmOf, RowAloneHasTheBitsItHasAmongOthers) {
    using Scalar = TypeParam;
    for (const auto& [columns, inner] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {17, 7}, {2048, 9}, {2053, 385}, {4100, 801}})
        for (int kind = 0; kind < 8; ++kind) {
            const std::int64_t m = 5, n = columns, k = inner;
            const bool transposed = (kind & 1) != 0, accumulate = (kind & 2) != 0, scaled = (kind & 4) != 0;
            const auto a = this->draw(m * k), b = this->draw(k * n), before = this->draw(m * n), bias = this->draw(n),
                       plus = this->draw(m * n), times = this->draw(m * n);
            this->on_every_build([&](const Kernels<Scalar>& kernel) {
                AlignedVector<Scalar> scratch(static_cast<std::size_t>(kernel.gemm_scratch));
                std::vector<Scalar> whole = before, alone = before;
                GemmArguments<Scalar> g{.m = m, .n = n, .k = k, .a = a.data(), .lda = transposed ? m : k, .b = b.data(), .ldb = n};
                g.c = whole.data(), g.ldc = n;
                g.transpose_a = transposed ? Transpose::Yes : Transpose::No;
                g.accumulate = accumulate;
                if (scaled) g.alpha = static_cast<Scalar>(0.3);
                if (!accumulate) g.bias = bias.data(), g.plus = plus.data(), g.times = scaled ? times.data() : nullptr;
                kernel.gemm(g, scratch.data());
                for (std::int64_t i = 0; i < m; ++i) {
                    GemmArguments<Scalar> row = g;
                    row.m = 1;
                    row.a += transposed ? i : i * g.lda;
                    row.c = alone.data() + i * n;
                    if (row.plus != nullptr) row.plus += i * n;
                    if (row.times != nullptr) row.times += i * n;
                    kernel.gemm(row, scratch.data());
                }
                ASSERT_EQ(alone, whole) << n << " columns, " << k << " terms, kind " << kind;
            });
        }
}

}  // namespace
}  // namespace attn
