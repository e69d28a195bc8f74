// Part of every kernel build: the matrix product of a single row, which reads B once and row by row. Its sums are added up in the order of
// a tile's, so that a row has the same bits whether it is computed alone or among others. Included by build.hpp inside an unnamed
// namespace.

constexpr int kRowsTogether = 8;                 // of B: enough for the processor to have several on their way from memory
constexpr std::int64_t kColumnsTogether = 2048;  // their sums stay in the L1 cache

/// sums [columns] += a [kRows] B [kRows,columns], one row after the other; a's numbers lie `a_step` apart, B's rows ldb.
template <int kRows, class Scalar>
ATTN_INLINE void add_rows_of_b(const Scalar* a, std::int64_t a_step, const Scalar* b, std::int64_t ldb, std::int64_t columns,
                               Scalar* sums) {
    constexpr std::int64_t kW = kWidth<Scalar>, kTogether = 4;  // vectors side by side, which lie in one place of memory
    std::int64_t j = 0;
    for (; j + kTogether * kW <= columns; j += kTogether * kW) {
        Vec<Scalar> sum[kTogether];
#pragma GCC unroll 4
        for (int v = 0; v < kTogether; ++v) sum[v] = load(sums + j + v * kW);
#pragma GCC unroll 8
        for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
            for (int v = 0; v < kTogether; ++v) sum[v] = multiply_add(splat(a[i * a_step]), load(b + i * ldb + j + v * kW), sum[v]);
#pragma GCC unroll 4
        for (int v = 0; v < kTogether; ++v) store(sums + j + v * kW, sum[v]);
    }
    for (; j < columns; j += kW) {
        const std::int64_t count = columns - j < kW ? columns - j : kW;
        Vec<Scalar> sum = load(sums + j);
#pragma GCC unroll 8
        for (int i = 0; i < kRows; ++i) sum = multiply_add(splat(a[i * a_step]), load_count(b + i * ldb + j, count), sum);
        store(sums + j, sum);
    }
}

/// Columns [first, first + columns) of C after the steps [p, p + depth) of k, whose sums these are.
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

/// Columns [first, first + columns) of C after the steps [p, p + depth) of k.
template <class Scalar>
void multiply_row_block(const GemmArguments<Scalar>& g, std::int64_t first, std::int64_t columns, std::int64_t p, std::int64_t depth,
                        Scalar* sums) {
    for (std::int64_t j = 0; j < columns; j += kWidth<Scalar>) store(sums + j, Vec<Scalar>{});
    const std::int64_t a_step = g.transpose_a == Transpose::Yes ? g.lda : 1;
    const Scalar* a = g.a + p * a_step;
    const Scalar* b = g.b + p * g.ldb + first;
    std::int64_t i = 0;
    for (; i + kRowsTogether <= depth; i += kRowsTogether)
        add_rows_of_b<kRowsTogether>(a + i * a_step, a_step, b + i * g.ldb, g.ldb, columns, sums);
    for (; i < depth; ++i) add_rows_of_b<1>(a + i * a_step, a_step, b + i * g.ldb, g.ldb, columns, sums);

    store_row_sums(g, first, columns, p, depth, sums);
}

/// The product in `g`, whose m is 1 and whose B is as stored; `sums` holds kColumnsTogether numbers.
template <class Scalar>
void multiply_row(const GemmArguments<Scalar>& g, Scalar* sums) {
    constexpr std::int64_t kDepth = Tile<Scalar>::kDepth;
    for (std::int64_t j = 0; j < g.n; j += kColumnsTogether) {
        const std::int64_t columns = g.n - j < kColumnsTogether ? g.n - j : kColumnsTogether;
        for (std::int64_t p = 0; p < g.k; p += kDepth) multiply_row_block(g, j, columns, p, g.k - p < kDepth ? g.k - p : kDepth, sums);
    }
}
