// Part of every kernel build: the product of a few rows, which reads B once, row by row. It sums in the same order as a tile, so a row has
// the same bits whether computed alone or among others. Included by build.hpp inside an unnamed namespace.

constexpr int kRowsTogether = 16;                // of B: enough for several loads from memory to be in flight
constexpr std::int64_t kColumnsTogether = 2048;  // so that the sums stay in the L1 cache
constexpr std::int64_t kFewRows = 4;             // of A: up to here reading B row by row is faster

/// A few rows of A: row r, step i of k is at first[r * row + i * step].
template <class Scalar>
struct FewRows {
    const Scalar* first;
    std::int64_t row, step;

    ATTN_INLINE Vec<Scalar> at(int r, int i) const { return splat(first[r * row + i * step]); }
};

/// sums [kM,columns] += A [kM,kRows] B [kRows,columns], one row of B after another; the rows of B are ldb apart.
template <int kM, int kRows, class Scalar>
ATTN_INLINE void add_rows_of_b(const FewRows<Scalar>& a, const Scalar* b, std::int64_t ldb, std::int64_t columns, Scalar* sums) {
    constexpr std::int64_t kW = kWidth<Scalar>, kTogether = 2;  // vectors side by side
    std::int64_t j = 0;
    for (; j + kTogether * kW <= columns; j += kTogether * kW) {
        Vec<Scalar> sum[kM][kTogether];
#pragma GCC unroll 4
        for (int r = 0; r < kM; ++r)
#pragma GCC unroll 4
            for (int v = 0; v < kTogether; ++v) sum[r][v] = load(sums + r * kColumnsTogether + j + v * kW);
#pragma GCC unroll 16
        for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
            for (int v = 0; v < kTogether; ++v) {
                // With a single row of A the hardware prefetcher keeps up by itself.
                if constexpr (kM > 1) __builtin_prefetch(b + (kRows + i) * ldb + j + v * kW);
                const Vec<Scalar> here = load(b + i * ldb + j + v * kW);
#pragma GCC unroll 4
                for (int r = 0; r < kM; ++r) sum[r][v] = multiply_add(a.at(r, i), here, sum[r][v]);
            }
#pragma GCC unroll 4
        for (int r = 0; r < kM; ++r)
#pragma GCC unroll 4
            for (int v = 0; v < kTogether; ++v) store(sums + r * kColumnsTogether + j + v * kW, sum[r][v]);
    }
    for (; j < columns; j += kW) {
        const std::int64_t count = columns - j < kW ? columns - j : kW;
        for (int r = 0; r < kM; ++r) {
            Vec<Scalar> sum = load(sums + r * kColumnsTogether + j);
#pragma GCC unroll 16
            for (int i = 0; i < kRows; ++i) sum = multiply_add(a.at(r, i), load_count(b + i * ldb + j, count), sum);
            store(sums + r * kColumnsTogether + j, sum);
        }
    }
}

/// Stores `sums`, which cover steps [p, p + depth) of k, to columns [first, first + columns) of one row of C.
template <class Scalar>
ATTN_INLINE void store_row_sums(const GemmArguments<Scalar>& g, std::int64_t first, std::int64_t columns, std::int64_t p,
                                std::int64_t depth, const Scalar* sums) {
    TileOperands<Scalar> o{};
    o.c = g.c + first, o.columns = columns, o.alpha = g.alpha;
    o.bias = g.bias == nullptr || p > 0 ? nullptr : g.bias + first;
    o.plus = g.accumulate || p > 0 ? o.c : g.plus == nullptr ? nullptr : g.plus + first;
    o.times = g.times == nullptr || p + depth < g.k ? nullptr : g.times + first;
    store_narrow_tile(o, 1, columns, sums);
}

/// The arguments of the product restricted to one row.
template <class Scalar>
GemmArguments<Scalar> row_of(GemmArguments<Scalar> g, std::int64_t row) {
    g.m = 1;
    g.a += g.transpose_a == Transpose::Yes ? row : row * g.lda;
    g.c += row * g.ldc;
    if (g.plus != nullptr) g.plus += row * g.ldc;
    if (g.times != nullptr) g.times += row * g.ldc;
    return g;
}

/// Computes columns [first, first + columns) of C for steps [p, p + depth) of k.
template <int kM, class Scalar>
void multiply_few_rows_block(const GemmArguments<Scalar>& g, std::int64_t first, std::int64_t columns, std::int64_t p, std::int64_t depth,
                             Scalar* sums) {
    for (int r = 0; r < kM; ++r)
        for (std::int64_t j = 0; j < columns; j += kWidth<Scalar>) store(sums + r * kColumnsTogether + j, Vec<Scalar>{});
    const bool across = g.transpose_a == Transpose::Yes;
    FewRows<Scalar> a{g.a + p * (across ? g.lda : 1), across ? 1 : g.lda, across ? g.lda : 1};
    const Scalar* b = g.b + p * g.ldb + first;
    std::int64_t i = 0;
    for (; i + kRowsTogether <= depth; i += kRowsTogether, a.first += kRowsTogether * a.step)
        add_rows_of_b<kM, kRowsTogether>(a, b + i * g.ldb, g.ldb, columns, sums);
    for (; i < depth; ++i, a.first += a.step) add_rows_of_b<kM, 1>(a, b + i * g.ldb, g.ldb, columns, sums);

    for (int r = 0; r < kM; ++r) store_row_sums(row_of(g, r), first, columns, p, depth, sums + r * kColumnsTogether);
}

/// The product `g` with m = kM and B not packed; `sums` holds kM * kColumnsTogether numbers.
template <int kM, class Scalar>
void multiply_few_rows(const GemmArguments<Scalar>& g, Scalar* sums) {
    constexpr std::int64_t kDepth = Tile<Scalar>::kDepth;
    for (std::int64_t j = 0; j < g.n; j += kColumnsTogether) {
        const std::int64_t columns = g.n - j < kColumnsTogether ? g.n - j : kColumnsTogether;
        for (std::int64_t p = 0; p < g.k; p += kDepth)
            multiply_few_rows_block<kM>(g, j, columns, p, g.k - p < kDepth ? g.k - p : kDepth, sums);
    }
}

/// The same for any m up to kFewRows.
template <class Scalar>
void multiply_few_rows(const GemmArguments<Scalar>& g, Scalar* sums) {
    static_assert(kFewRows == 4);
    if (g.m == 1) multiply_few_rows<1>(g, sums);
    else if (g.m == 2) multiply_few_rows<2>(g, sums);
    else if (g.m == 3) multiply_few_rows<3>(g, sums);
    else multiply_few_rows<4>(g, sums);
}
