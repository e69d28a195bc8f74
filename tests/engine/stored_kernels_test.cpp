/// Matrices in the formats of files, packed and multiplied by every kernel build.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "engine/kernels/stored_kernels.hpp"
#include "engine/ops/gemm.hpp"
#include "engine/tensor/matrix_view.hpp"
#include "engine/tensor/random.hpp"

namespace attn {
namespace {

constexpr NumberKind kKinds[] = {NumberKind::F32,  NumberKind::F16,  NumberKind::BF16, NumberKind::Q4_0, NumberKind::Q4_1,
                                 NumberKind::Q5_0, NumberKind::Q5_1, NumberKind::Q8_0, NumberKind::Q2_K, NumberKind::Q3_K,
                                 NumberKind::Q4_K, NumberKind::Q5_K, NumberKind::Q6_K};

/// The offsets of a block's half-precision numbers; its other bytes may be arbitrary.
std::vector<std::int64_t> halves_of(NumberKind kind) {
    switch (kind) {
    case NumberKind::Q4_1:
    case NumberKind::Q5_1:
    case NumberKind::Q4_K:
    case NumberKind::Q5_K:
        return {0, 2};
    case NumberKind::Q2_K:
        return {80, 82};
    case NumberKind::Q3_K:
        return {108};
    case NumberKind::Q6_K:
        return {208};
    default:
        return {0};
    }
}

/// Random bytes that decode to finite numbers; with `wild`, any half-precision values, including infinities and NaNs.
std::vector<unsigned char> drawn_bytes(NumberKind kind, std::int64_t numbers, std::uint64_t seed, bool wild = false) {
    const CounterRandom random(seed, 7);
    std::vector<unsigned char> bytes(static_cast<std::size_t>(stored_bytes(kind, numbers)));
    std::uint64_t drawn = 0;
    for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random.bits(drawn++));
    const auto put = [&](std::size_t at, auto value) { std::memcpy(bytes.data() + at, &value, sizeof value); };
    if (kind == NumberKind::F32) {
        for (std::size_t i = 0; i < bytes.size(); i += 4) put(i, static_cast<float>(random.normal(drawn++)));
        return bytes;
    }
    if (wild) return bytes;
    const auto tame = [&](std::size_t at) {
        // Random sign and fraction, with an exponent near that of 1; bfloat16 exponents have eight bits.
        const auto bits = static_cast<std::uint16_t>(random.bits(drawn++));
        if (kind == NumberKind::BF16) put(at, static_cast<std::uint16_t>((bits & 0x80FFU) | 0x3F00U));
        else put(at, static_cast<std::uint16_t>((bits & 0x83FFU) | 0x3800U));
    };
    const BlockSize block = block_size(kind);
    for (std::size_t at = 0; at < bytes.size(); at += static_cast<std::size_t>(block.bytes))
        for (const std::int64_t half : halves_of(kind)) tame(at + static_cast<std::size_t>(half));
    return bytes;
}

std::string name_of(NumberKind kind) { return "kind " + std::to_string(static_cast<int>(kind)); }

bool same_bits(float a, float b) {
    return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

TEST(StoredKernels, WidenAsOneNumberIsRead) {
    for (const KernelBuild build : available_kernel_builds())
        for (const NumberKind kind : kKinds)
            for (const bool wild : {false, true}) {
                const std::int64_t numbers = 4 * 256;
                const auto bytes = drawn_bytes(kind, numbers, 3, wild);
                const NumberReader read = number_reader(kind);
                for (const std::int64_t count : {std::int64_t{1}, std::int64_t{31}, std::int64_t{257}, numbers}) {
                    std::vector<float> out(static_cast<std::size_t>(count) + 1, 77);
                    stored_kernels_of(build).widen(kind, bytes.data(), count, out.data());
                    for (std::int64_t i = 0; i < count; ++i)
                        ASSERT_TRUE(same_bits(out[static_cast<std::size_t>(i)], read(bytes.data(), i)))
                            << kernel_build_name(build) << " " << name_of(kind) << " number " << i << " of " << count;
                    EXPECT_EQ(out.back(), 77) << "nothing is written behind the last number";
                }
            }
}

TEST(StoredKernels, SumOfWordsReadsEveryWordOnce) {
    std::vector<std::uint64_t> words(2 * 2 * 8192 + 77);
    // Powers of three modulo 2^64 are all different and odd: leaving one out or reading it twice changes the sum.
    std::uint64_t power = 1;
    for (std::uint64_t& word : words) word = power *= 3;
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, std::size_t{8191}, std::size_t{16384}, words.size() - 1, words.size()}) {
        std::uint64_t expected = 0;
        for (std::size_t i = 0; i < count; ++i) expected += words[i];
        for (const KernelBuild build : available_kernel_builds())
            EXPECT_EQ(stored_kernels_of(build).sum_of_words(words.data(), static_cast<std::int64_t>(count)), expected)
                << kernel_build_name(build) << ", " << count << " words";
    }
}

/// The float matrix [k,n] that a view represents.
std::vector<float> floats_of(const MatrixView& view) {
    std::vector<float> out;
    for (std::int64_t r = 0; r < view.rows; ++r)
        for (std::int64_t c = 0; c < view.columns; ++c) out.push_back(static_cast<float>(view.at(r, c)));
    return out;
}

TEST(StoredKernels, PackAsFloatsArePacked) {
    for (const KernelBuild build : available_kernel_builds())
        for (const NumberKind kind : kKinds)
            for (const bool transposed : {true, false}) {
                const std::int64_t block = block_size(kind).numbers, stored_rows = 77, stride = block == 1 ? 300 : 2 * block;
                const auto bytes = drawn_bytes(kind, stored_rows * stride, 5);
                const MatrixView view{bytes.data(), kind,      transposed ? stride : stored_rows, transposed ? stored_rows : stride,
                                      stride,       transposed};
                const Kernels<float>& kernels = kernels_of<float>(build);
                const std::vector<float> floats = floats_of(view);
                std::vector<float> expected(static_cast<std::size_t>(kernels.packed_size(view.rows, view.columns)), -1), packed = expected;
                kernels.pack_b(floats.data(), view.columns, Transpose::No, view.rows, view.columns, expected.data());
                const StoredMatrix stored{
                    bytes.data(),          kind, transposed ? Transpose::Yes : Transpose::No, stored_bytes(kind, stride), block,
                    block_size(kind).bytes};
                stored_kernels_of(build).pack(stored, view.rows, view.columns, packed.data());
                EXPECT_EQ(packed, expected) << kernel_build_name(build) << " " << name_of(kind) << (transposed ? " transposed" : "");
            }
}

/// Rows of products with stored matrices are bit-identical to products with floats, alone or among others.
TEST(StoredKernels, ProductsHaveTheBitsOfTheProductWithFloats) {
    const CounterRandom random(9, 1);
    for (const NumberKind kind : kKinds)
        for (const bool transposed : {true, false})
            for (const auto& [k, n] :
                 {std::pair<std::int64_t, std::int64_t>{512, 130}, {512, 700}, {768, 33}, {256, 1}, {96, 40}, {20, 5}}) {
                if (k % block_size(kind).numbers != 0) continue;
                const std::int64_t block = block_size(kind).numbers, stride = transposed ? k : (n + block - 1) / block * block;
                const auto bytes = drawn_bytes(kind, (transposed ? n : k) * stride, 11);
                const MatrixView view{bytes.data(), kind, k, n, stride, transposed};
                const std::vector<float> floats = floats_of(view);
                for (const std::int64_t m : {1, 2, 3, 4, 9}) {
                    std::vector<float> a(static_cast<std::size_t>(m * k)), bias(static_cast<std::size_t>(n)),
                        plus(static_cast<std::size_t>(m * n));
                    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(random.normal(i));
                    for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i) * 0.5F;
                    for (std::size_t i = 0; i < plus.size(); ++i) plus[i] = static_cast<float>(i % 7);
                    std::vector<float> expected(plus.size()), got(plus.size());
                    GemmArguments<float> g{.m = m,
                                           .n = n,
                                           .k = k,
                                           .a = a.data(),
                                           .lda = k,
                                           .c = expected.data(),
                                           .ldc = n,
                                           .bias = bias.data(),
                                           .plus = plus.data()};
                    g.b = floats.data(), g.ldb = n;
                    gemm(g);
                    g.b = nullptr, g.ldb = 0, g.c = got.data();
                    parallel_gemm(g, view);
                    EXPECT_EQ(got, expected) << name_of(kind) << (transposed ? " transposed" : "") << " " << m << " x " << n << " x " << k;
                }
            }
}

/// What every build reads in place: complete sets of columns with a remainder, one block and more than a tile's depth.
TEST(StoredKernels, EveryBuildReadsColumnsInPlaceWithTheBitsOfItsProductWithFloats) {
    const CounterRandom random(21, 1);
    for (const KernelBuild build : available_kernel_builds())
        for (const NumberKind kind : kKinds)
            for (const auto& [k, n] :
                 {std::pair<std::int64_t, std::int64_t>{768, 83}, {1024, 16}, {512, 7}, {256, 33}, {160, 17}, {32, 50}}) {
                if (k % block_size(kind).numbers != 0) continue;
                const auto bytes = drawn_bytes(kind, n * k, static_cast<std::uint64_t>(k + n));
                const MatrixView view{bytes.data(), kind, k, n, k, true};
                const std::vector<float> floats = floats_of(view);
                for (const std::int64_t m : {1, 2, 3}) {
                    std::vector<float> a(static_cast<std::size_t>(m * k)), expected(static_cast<std::size_t>(m * n)), got = expected;
                    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(random.normal(i));
                    const Kernels<float>& kernels = kernels_of<float>(build);
                    std::vector<float> scratch(static_cast<std::size_t>(kernels.gemm_scratch));
                    GemmArguments<float> g{.m = m, .n = n, .k = k, .a = a.data(), .lda = k, .c = expected.data(), .ldc = n};
                    g.b = floats.data(), g.ldb = n;
                    kernels.gemm(g, scratch.data());
                    g.b = nullptr, g.ldb = 0, g.c = got.data();
                    const StoredMatrix stored{bytes.data(),          kind, Transpose::Yes, stored_bytes(kind, k), block_size(kind).numbers,
                                              block_size(kind).bytes};
                    const bool in_place = stored_kernels_of(build).multiply_rows(g, stored);
                    EXPECT_TRUE(in_place || build == KernelBuild::Baseline) << name_of(kind);
                    if (!in_place) continue;
                    EXPECT_EQ(got, expected) << kernel_build_name(build) << " " << name_of(kind) << " " << m << " x " << n << " x " << k;
                }
            }
}

/// A drawn matrix [k,n] whose columns are contiguous, as stored and as floats.
struct DrawnColumns {
    std::int64_t k, n;
    std::vector<unsigned char> bytes;
    StoredMatrix stored;
    std::vector<float> floats;

    DrawnColumns(NumberKind kind, std::int64_t rows, std::int64_t columns)
        : k(rows), n(columns), bytes(drawn_bytes(kind, n * k, static_cast<std::uint64_t>(1000 * k + n))),
          stored{bytes.data(), kind, Transpose::Yes, stored_bytes(kind, k), block_size(kind).numbers, block_size(kind).bytes},
          floats(floats_of({bytes.data(), kind, k, n, k, true})) {}
};

/// Whole chunks of every kind, a part of a chunk, and more than a tile's depth.
std::vector<std::int64_t> column_lengths_of(NumberKind kind) {
    const std::int64_t block = block_size(kind).numbers;
    if (block == 256) return {256, 768};
    return {32, 160, 416};
}

TEST(StoredKernels, ColumnsOfEveryCountArePackedAsFloatsAre) {
    for (const KernelBuild build : available_kernel_builds())
        for (const NumberKind kind : kKinds)
            for (const std::int64_t k : column_lengths_of(kind))
                for (const std::int64_t n : {1, 7, 8, 9, 15, 16, 17, 31, 33, 48, 63, 64, 65, 80, 128, 131}) {
                    const DrawnColumns drawn(kind, k, n);
                    const Kernels<float>& kernels = kernels_of<float>(build);
                    std::vector<float> expected(static_cast<std::size_t>(kernels.packed_size(k, n)), -1), packed = expected;
                    kernels.pack_b(drawn.floats.data(), n, Transpose::No, k, n, expected.data());
                    stored_kernels_of(build).pack(drawn.stored, k, n, packed.data());
                    ASSERT_EQ(packed, expected) << kernel_build_name(build) << " " << name_of(kind) << " " << k << " x " << n;
                }
}

TEST(StoredKernels, ARowTimesColumnsOfEveryCountHasTheBitsOfTheProductWithFloats) {
    const CounterRandom random(22, 1);
    for (const KernelBuild build : available_kernel_builds()) {
        const Kernels<float>& kernels = kernels_of<float>(build);
        std::vector<float> scratch(static_cast<std::size_t>(kernels.gemm_scratch));
        for (const NumberKind kind : kKinds)
            for (const std::int64_t k : column_lengths_of(kind))
                for (std::int64_t n = 1; n <= 70; ++n) {
                    const DrawnColumns drawn(kind, k, n);
                    std::vector<float> a(static_cast<std::size_t>(k)), expected(static_cast<std::size_t>(n)), got = expected;
                    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(random.normal(i));
                    GemmArguments<float> g{.m = 1, .n = n, .k = k, .a = a.data(), .lda = k, .c = expected.data(), .ldc = n};
                    g.b = drawn.floats.data(), g.ldb = n;
                    kernels.gemm(g, scratch.data());
                    g.b = nullptr, g.ldb = 0, g.c = got.data();
                    if (!stored_kernels_of(build).multiply_rows(g, drawn.stored)) continue;
                    for (std::size_t i = 0; i < got.size(); ++i)
                        ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(expected[i]))
                            << kernel_build_name(build) << " " << name_of(kind) << " " << k << " x " << n << ", column " << i;
                }
    }
}

TEST(StoredKernels, RowsThatAreMultipliedWhilePackingHaveTheBitsOfTheProductWithFloats) {
    const CounterRandom random(23, 1);
    for (const KernelBuild build : available_kernel_builds()) {
        const Kernels<float>& kernels = kernels_of<float>(build);
        std::vector<float> scratch(static_cast<std::size_t>(kernels.gemm_scratch));
        for (const NumberKind kind : kKinds)
            for (const std::int64_t k : column_lengths_of(kind))
                for (const std::int64_t n : {63, 64, 128})
                    for (const std::int64_t m : {3, 4, 5}) {
                        const DrawnColumns drawn(kind, k, n);
                        const std::string what = std::string(kernel_build_name(build)) + " " + name_of(kind) + " " + std::to_string(m) +
                                                 " x " + std::to_string(n) + " x " + std::to_string(k);
                        std::vector<float> a(static_cast<std::size_t>(m * k)), expected(static_cast<std::size_t>(m * n)), got = expected;
                        for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(random.normal(i));
                        GemmArguments<float> g{.m = m, .n = n, .k = k, .a = a.data(), .lda = k, .c = expected.data(), .ldc = n};
                        g.b = drawn.floats.data(), g.ldb = n;
                        kernels.gemm(g, scratch.data());
                        std::vector<float> floats(static_cast<std::size_t>(kernels.packed_size(k, n)), -1), packed = floats;
                        kernels.pack_b(drawn.floats.data(), n, Transpose::No, k, n, floats.data());
                        g.b = nullptr, g.ldb = 0, g.c = got.data();
                        const std::int64_t done = stored_kernels_of(build).pack_and_multiply(g, drawn.stored, packed.data());
                        EXPECT_EQ(packed, floats) << what;
                        const bool some = build != KernelBuild::Baseline && block_size(kind).numbers == 256 && n % 64 == 0 && m >= 4;
                        EXPECT_EQ(done > 0, some) << what;
                        for (std::int64_t i = 0; i < done * n; ++i)
                            ASSERT_TRUE(same_bits(got[static_cast<std::size_t>(i)], expected[static_cast<std::size_t>(i)]))
                                << what << ", number " << i;
                    }
    }
}

TEST(StoredKernels, AViewThatBeginsWithinABlockIsReadToo) {
    const NumberKind kind = NumberKind::Q4_K;
    const auto bytes = drawn_bytes(kind, 20 * 512, 13);
    const MatrixView all{bytes.data(), kind, 512, 20, 512, true};
    const MatrixView part = all.rows_from(100, 64).columns_from(3, 5);
    std::vector<float> a(64, 1), got(5), expected(5);
    for (std::int64_t c = 0; c < 5; ++c)
        for (std::int64_t r = 0; r < 64; ++r)
            expected[static_cast<std::size_t>(c)] =
                std::fma(1.0F, static_cast<float>(all.at(100 + r, 3 + c)), expected[static_cast<std::size_t>(c)]);
    parallel_gemm<float>({.m = 1, .n = 5, .k = 64, .a = a.data(), .lda = 64, .c = got.data(), .ldc = 5}, part);
    for (std::size_t c = 0; c < 5; ++c) EXPECT_NEAR(got[c], expected[c], 1e-3F * std::abs(expected[c]) + 1e-3F);
    EXPECT_EQ(part.at(2, 1), all.at(102, 4));
}

}  // namespace
}  // namespace attn
