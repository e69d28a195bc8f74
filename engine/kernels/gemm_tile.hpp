// Part of every kernel build: a tile of the matrix product, a few rows by up to four vectors of columns, held in registers over the loop on
// k. Included by build.hpp inside an unnamed namespace.

template <class Scalar>
struct Tile {
    /// Vectors in the widest tile. Wide and flat, because every number of A costs a broadcast instruction.
    static constexpr int kVectors = kVectorBytes == 64 ? 4 : 2;
    static constexpr int kColumns = kVectors * kWidth<Scalar>;
    static constexpr int kRows = 12;  ///< of a narrow tile, which needs many sums to hide the latency of an addition; a wide one has half
    static constexpr std::int64_t kDepth = 384;                ///< steps of k in one pass: a packed panel of B then stays in the L2 cache
    static constexpr std::int64_t kRowBlock = 8 * kRows;       ///< rows of A at a time while a block of B stays in the L2 cache
    static constexpr std::int64_t kRowsThatStay = 32 * kRows;  ///< packed rows of A that stay in the cache while B passes
    static constexpr std::int64_t kColumnBlock = kVectorBytes == 64 ? 8 * kColumns : 16 * kColumns;
    static constexpr std::int64_t kRowBytes = kVectors * kVectorBytes;  ///< of a packed panel's row
    static constexpr std::int64_t kFar = 1 << 15;                       ///< C may not be in the L2 cache if it spans more bytes
    static constexpr std::int64_t kFarPanels = 1 << 18;  ///< panels larger than this may be evicted before the next rows need them
    /// Only with AVX-512: narrower vectors leave no instruction slots for prefetching and use less memory bandwidth.
    static constexpr bool kAsksAhead = kVectorBytes == 64;
    static constexpr int kStepsForC = 4, kStepsForOther = 12;  ///< steps of k per prefetched row of C, and of plus or times

    /// Accumulators, a row of B and a broadcast must fit the registers: 32 with AVX-512, 16 without.
    static constexpr int rows_of(int vectors) { return vectors * kRows <= (kVectorBytes == 64 ? 24 : 12) ? kRows : kRows / 2; }
};

/// Memory that is needed after a tile and prefetched while it is computed.
struct Ahead {
    const char* first = nullptr;
    std::int64_t pieces = 0, distance = 0;  // number of pieces, and bytes from one to the next
    std::int64_t steps = 0, step = 0;       // steps of k spent on each piece, and bytes prefetched at each
};

/// Operands of a tile: where element (i,p) of A and row p of B are, and what to do with C.
template <class Scalar>
struct TileOperands {
    const Scalar* a;
    std::int64_t a_row, a_step;  // distance between rows, and between steps of k
    const Scalar* b;
    std::int64_t b_step;
    Scalar* c;
    std::int64_t ldc;
    std::int64_t depth, columns;
    Scalar alpha;
    const Scalar* bias;
    const Scalar* plus;   // [rows,columns] added to C, row distance ldc; c itself to accumulate
    const Scalar* times;  // [rows,columns] the result is multiplied by, row distance ldc
    bool c_is_far;        // prefetch C, and plus or times, before the sums are finished
    Ahead ahead;
    Scalar* packed = nullptr;  // where a tile that packs its panel writes it
};

/// Stores a tile of a matrix's last panel, narrower than a full tile; the rows of `sums` are whole vectors.
template <class Scalar>
[[gnu::noinline]] void store_narrow_tile(const TileOperands<Scalar>& o, std::int64_t rows, std::int64_t width, const Scalar* sums) {
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < o.columns; j += kWidth<Scalar>) {
            const std::int64_t at = i * o.ldc + j, count = o.columns - j < kWidth<Scalar> ? o.columns - j : kWidth<Scalar>;
            Vec<Scalar> start = o.bias == nullptr ? Vec<Scalar>{} : load_part(o.bias + j, count, Scalar{0});
            if (o.plus != nullptr) start += load_part(o.plus + at, count, Scalar{0});
            Vec<Scalar> result = multiply_add(splat(o.alpha), load(sums + i * width + j), start);
            if (o.times != nullptr) result *= load_part(o.times + at, count, Scalar{0});
            store_part(o.c + at, result, count);
        }
}

template <int kRows, int kVectors, class Scalar>
[[gnu::noinline]] void multiply_rows(const Scalar* times, Scalar* c, std::int64_t ldc) {
    for (int i = 0; i < kRows; ++i, c += ldc, times += ldc)
        for (int v = 0; v < kVectors * kWidth<Scalar>; v += kWidth<Scalar>) store(c + v, load(c + v) * load(times + v));
}

/// One pointer for every three rows of A, indexed by the row distance: that many pointers fit the registers.
/// kPacks: also copies the panel of B to o.packed, in the time that the arithmetic leaves to loads and stores.
template <int kRows, int kVectors, bool kPacks, class Scalar>
[[gnu::noinline]] void compute_tile(const TileOperands<Scalar>& o) {
    constexpr int kW = kWidth<Scalar>, kGroups = (kRows + 2) / 3;
    Vec<Scalar> sums[kRows][kVectors] = {};
    const Scalar* group[kGroups];
    for (int g = 0; g < kGroups; ++g) group[g] = o.a + 3 * g * o.a_row;
    const Scalar* b = o.b;
    const std::int64_t a_row = o.a_row, a_step = o.a_step, b_step = o.b_step;
    [[maybe_unused]] Scalar* packed = o.packed;
    const auto step = [&]() __attribute__((always_inline)) {
        Vec<Scalar> row[kVectors];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) row[v] = load(b + v * kW);
        if constexpr (kPacks) {
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) store(packed + v * kW, row[v]);
            packed += kVectors * kW;
        }
#pragma GCC unroll 12
        for (int i = 0; i < kRows; ++i) {
            const Scalar a = group[i / 3][(i % 3) * a_row];
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) sums[i][v] += a * row[v];
        }
#pragma GCC unroll 4
        for (int g = 0; g < kGroups; ++g) group[g] += a_step;
        b += b_step;
    };
    std::int64_t p = o.depth;
    constexpr int kStepsForC = Tile<Scalar>::kStepsForC, kStepsForOther = Tile<Scalar>::kStepsForOther;
    if (o.c_is_far && p >= kStepsForC * kRows) {
        // One row of C at a time between the steps: prefetching all rows at once would hold up the loads of B.
        const Scalar* c = o.c;
        for (int i = 0; i < kRows; ++i, c += o.ldc) {
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) __builtin_prefetch(c + v * kW, 1);
#pragma GCC unroll 4
            for (int s = 0; s < kStepsForC; ++s) step();
        }
        p -= kStepsForC * kRows;
    }
    // The loops below must not be unrolled: the compiler would then spill some of the sums.
    const Scalar* other = o.times != nullptr ? o.times : o.plus;
    if (Tile<Scalar>::kAsksAhead && o.c_is_far && other != nullptr && other != o.c && p >= kStepsForOther * kRows) {
#pragma GCC unroll 1
        for (int i = 0; i < kRows; ++i, other += o.ldc) {
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) __builtin_prefetch(other + v * kW);
#pragma GCC unroll 1
            for (int s = 0; s < kStepsForOther; ++s) step();
        }
        p -= kStepsForOther * kRows;
    }
    if (Tile<Scalar>::kAsksAhead) {
        // Every step prefetches, often the same cache line again: short inner loops would end in mispredicted branches.
        const std::int64_t steps = o.ahead.steps, ahead_step = o.ahead.step;
        const char* piece = o.ahead.first;
#pragma GCC unroll 1
        for (std::int64_t i = o.ahead.pieces; i > 0; --i, piece += o.ahead.distance) {
            const char* ahead = piece;
#pragma GCC unroll 1
            for (std::int64_t s = steps; s > 0; --s) {
                __builtin_prefetch(ahead, 0, 2);
                ahead += ahead_step;
                step();
            }
        }
        p -= o.ahead.pieces * steps;
    }
#pragma GCC unroll 1
    for (; p > 0; --p) step();
    if (o.columns < kVectors * kW) {
        Scalar narrow[kRows * kVectors * kW];
#pragma GCC unroll 12
        for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) store(narrow + (i * kVectors + v) * kW, sums[i][v]);
        return store_narrow_tile(o, kRows, kVectors * kW, narrow);
    }
    const Vec<Scalar> alpha = splat(o.alpha);
    Vec<Scalar> start[kVectors] = {};
    if (o.bias != nullptr)
        for (int v = 0; v < kVectors; ++v) start[v] = load(o.bias + v * kW);
    Scalar* c = o.c;
    if (o.plus != nullptr) {
        const Scalar* plus = o.plus;
#pragma GCC unroll 12
        for (int i = 0; i < kRows; ++i, c += o.ldc, plus += o.ldc)
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) store(c + v * kW, multiply_add(alpha, sums[i][v], start[v] + load(plus + v * kW)));
        if (o.times != nullptr) multiply_rows<kRows, kVectors>(o.times, o.c, o.ldc);
        return;
    }
    if (o.times != nullptr) {
        const Scalar* times = o.times;
#pragma GCC unroll 12
        for (int i = 0; i < kRows; ++i, c += o.ldc, times += o.ldc)
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) store(c + v * kW, multiply_add(alpha, sums[i][v], start[v]) * load(times + v * kW));
        return;
    }
#pragma GCC unroll 12
    for (int i = 0; i < kRows; ++i, c += o.ldc)
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) store(c + v * kW, multiply_add(alpha, sums[i][v], start[v]));
}

template <int kVectors, class Scalar, int kRows = Tile<Scalar>::rows_of(kVectors)>
ATTN_INLINE void compute_rows(std::int64_t rows, const TileOperands<Scalar>& o) {
    if constexpr (kRows > 0) {
        if (rows == kRows) compute_tile<kRows, kVectors, false>(o);
        else compute_rows<kVectors, Scalar, kRows - 1>(rows, o);
    }
}

template <class Scalar, int kVectors = Tile<Scalar>::kVectors>
ATTN_INLINE void compute_tile_of(std::int64_t rows, std::int64_t vectors, const TileOperands<Scalar>& o) {
    if constexpr (kVectors > 0) {
        if (vectors == kVectors) compute_rows<kVectors, Scalar>(rows, o);
        else compute_tile_of<Scalar, kVectors - 1>(rows, vectors, o);
    }
}
