// Part of every kernel build: the matrix product. Included by build.hpp inside an unnamed namespace.
//
// C is computed in tiles. Every element is summed over k in the same order wherever its tile starts, so splitting rows or columns across
// threads changes no bits.

template <class Scalar>
struct GemmPass {
    using T = Tile<Scalar>;
    const GemmArguments<Scalar>& g;
    Scalar *packed_a, *packed_b;
    bool pack_a, pack_b;

    /// The part of B in columns [first, first + columns) and steps [p, p + depth) of k.
    struct Block {
        std::int64_t first, columns, p, depth;

        std::int64_t columns_of_panel(std::int64_t j) const { return columns - j < T::kColumns ? columns - j : T::kColumns; }
    };

    bool is_transposed() const { return g.transpose_b == Transpose::Yes; }

    /// Whether each panel is packed when its first rows of A need it, and the next one is prefetched as it is stored meanwhile. Otherwise
    /// all panels of a block are packed first: without prefetching, only that order lets memory be read fast.
    bool packs_in_passing() const { return T::kAsksAhead && pack_b; }

    /// Packs a block's panels, except those that tiles can read in place.
    void prepare_panels(const Block& b) const {
        const Scalar* from = stored(b, 0);
        if (is_transposed()) pack_panels_transposed(from, g.ldb, b.columns, b.depth, packed_b);
        else if (pack_b) pack_panels(from, g.ldb, b.columns, b.depth, packed_b);
        else pack_last_panel(from, g.ldb, b.columns, b.depth, packed_b, kWidth<Scalar>);
    }

    /// Where column j of the block is stored.
    const Scalar* stored(const Block& b, std::int64_t j) const {
        return is_transposed() ? g.b + (b.first + j) * g.ldb + b.p : g.b + b.p * g.ldb + b.first + j;
    }

    /// A panel of B: its first number, row distance and number of rows.
    struct Panel {
        const Scalar* b = nullptr;
        std::int64_t step = 0, depth = 0;
    };

    /// The panel that starts at column j of the block.
    Panel panel(const Block& b, std::int64_t j) const {
        if (g.packed_b != nullptr) {
            const std::int64_t at = b.first + j, left = g.packed_n - at, width = width_of<Scalar>(left < T::kColumns ? left : T::kColumns);
            return {g.packed_b + at * g.packed_k + b.p * width, width, b.depth};
        }
        const std::int64_t columns = b.columns_of_panel(j), width = width_of<Scalar>(columns);
        if (!pack_b && columns == width) return {g.b + b.p * g.ldb + b.first + j, g.ldb, b.depth};
        return {packed_b + j * b.depth, width, b.depth};
    }

    /// Memory to prefetch: rows of `bytes` each, `distance` bytes apart. No rows: nothing.
    struct Stretch {
        const Scalar* first = nullptr;
        std::int64_t rows = 0, distance = 0, bytes = 0;
    };
    static constexpr std::int64_t kSize = static_cast<std::int64_t>(sizeof(Scalar));

    /// The same panel if its rows have the full tile width, so that it can be prefetched row by row; otherwise nothing.
    Stretch whole_panel(const Block& b, std::int64_t j) const {
        const Panel there = panel(b, j);
        return there.step == T::kColumns ? Stretch{there.b, there.depth, T::kRowBytes, T::kRowBytes} : Stretch{};
    }

    /// What the panel at column j of the block will be packed from.
    Stretch stored_panel(const Block& b, std::int64_t j) const {
        if (is_transposed()) return {stored(b, j), b.columns_of_panel(j), g.ldb * kSize, b.depth * kSize};
        return {stored(b, j), b.depth, g.ldb * kSize, T::kRowBytes};
    }

    /// The block below b: same columns, the next steps of k. Has depth 0 at the end of k.
    Block below(const Block& b) const { return {b.first, b.columns, b.p + b.depth, depth_from(b.p + b.depth)}; }

    /// The panel used after the one at column j, if it may not be in the cache and is worth prefetching: when the block is too large to
    /// stay there, or when B was packed long ago and these are the first rows of A. Otherwise nothing.
    Stretch panel_to_ask_for(const Block& b, std::int64_t j, std::int64_t i, std::int64_t rows) const {
        const bool far = b.depth * b.columns * kSize > T::kFarPanels;
        const bool given = g.packed_b != nullptr && g.packed_is_far;
        if (j + T::kColumns < b.columns) return far || (given && i == 0) ? whole_panel(b, j + T::kColumns) : Stretch{};
        if (i + rows < g.m) return far ? whole_panel(b, 0) : Stretch{};
        return given && below(b).depth > 0 ? whole_panel(below(b), 0) : Stretch{};
    }

    /// What is packed after the panel at column j.
    Stretch columns_to_ask_for(const Block& b, std::int64_t j) const {
        if (j + T::kColumns < b.columns) return stored_panel(b, j + T::kColumns);
        const Block next = below(b);
        return next.depth > 0 ? stored_panel(next, 0) : Stretch{};
    }

    /// How many steps of k the pass that starts at step p covers.
    std::int64_t depth_from(std::int64_t p) const { return g.k - p < T::kDepth ? g.k - p : T::kDepth; }

    /// Height of the tile that starts at row r. Two tiles of nearly equal height are faster than a full one and a low one, which has too
    /// few sums to hide latency. In packed rows a tile must stay within one block of kRows.
    std::int64_t rows_of_tile(std::int64_t r, std::int64_t rows, std::int64_t tile_rows) const {
        const std::int64_t left = rows - r;
        if (left <= tile_rows) return left;
        const bool halves = left < 2 * tile_rows && (!pack_a || (r % T::kRows == 0 && left <= T::kRows));
        return halves ? (left + 1) / 2 : tile_rows;
    }

    /// Divides the prefetching of `next` among `tiles` tiles, each with `steps` steps of k. The last tile may prefetch past its end.
    Ahead share_of(const Stretch& next, std::int64_t tiles, std::int64_t steps) const {
        const std::int64_t rows = (next.rows + tiles - 1) / tiles;
        const bool together = next.distance == next.bytes;  // contiguous rows: one piece
        const std::int64_t pieces = together ? 1 : rows, of_piece = steps / pieces;
        if (of_piece <= 0) return {};
        const std::int64_t bytes = next.bytes * (together ? rows : 1);
        return {reinterpret_cast<const char*>(next.first), pieces, together ? bytes : next.distance, of_piece,
                (bytes + of_piece - 1) / of_piece};
    }

    /// Steps of k that a tile spends, per row, on prefetching C and the operand added or multiplied with it.
    std::int64_t steps_for_c() const { return T::kStepsForC + (g.plus == nullptr && g.times == nullptr ? 0 : T::kStepsForOther); }

    /// Computes all tiles of rows [i, i + rows) with the block's panel at column j. Meanwhile each tile prefetches its share of panel
    /// `next` into the L2 cache.
    /// With `pack_to`, the first tile copies the panel there for the others.
    void run_panel(std::int64_t i, std::int64_t rows, const Block& b, std::int64_t j, const Panel& here_b, const Stretch& next,
                   Scalar* pack_to = nullptr) const {
        const std::int64_t p = b.p, depth = b.depth, columns = b.columns_of_panel(j), first = b.first + j;
        const std::int64_t vectors = width_of<Scalar>(columns) / kWidth<Scalar>;
        TileOperands<Scalar> o{};
        o.depth = depth, o.columns = columns, o.alpha = g.alpha, o.ldc = g.ldc;
        o.bias = g.bias == nullptr || p > 0 ? nullptr : g.bias + first;
        o.b = here_b.b, o.b_step = here_b.step;
        const bool adds = g.accumulate || p > 0;
        o.c_is_far = g.m * g.ldc * static_cast<std::int64_t>(sizeof(Scalar)) > T::kFar;
        const std::int64_t tile_rows = T::rows_of(static_cast<int>(vectors));
        const std::int64_t tiles = (rows + tile_rows - 1) / tile_rows;
        if (T::kAsksAhead && next.rows > 0) o.ahead = share_of(next, tiles, depth - steps_for_c() * tile_rows);
        for (std::int64_t r = 0, here = 0; r < rows; r += here) {
            here = rows_of_tile(r, rows, tile_rows);
            if (pack_a) o.a = packed_a + r / T::kRows * T::kRows * depth + r % T::kRows, o.a_row = 1, o.a_step = T::kRows;
            else if (g.transpose_a == Transpose::Yes) o.a = g.a + p * g.lda + i + r, o.a_row = 1, o.a_step = g.lda;
            else o.a = g.a + (i + r) * g.lda + p, o.a_row = g.lda, o.a_step = 1;
            const std::int64_t at = (i + r) * g.ldc + first;
            o.c = g.c + at;
            o.plus = adds ? o.c : g.plus == nullptr ? nullptr : g.plus + at;
            o.times = g.times == nullptr || p + depth < g.k ? nullptr : g.times + at;
            if (pack_to != nullptr && r == 0) {
                o.packed = pack_to;
                compute_tile<T::rows_of(T::kVectors), T::kVectors, true>(o);
                o.b = pack_to, o.b_step = T::kColumns;
            } else {
                compute_tile_of<Scalar>(here, vectors, o);
            }
            o.ahead.first += o.ahead.pieces * o.ahead.distance;
        }
    }

    /// Computes the first `rows` rows of A with the panel at column j, which is copied to `packed` on the way: by the first tile, or before
    /// it if B is transposed or the panel is narrower than a tile.
    void pack_and_run_panel(std::int64_t rows, const Block& b, std::int64_t j, Scalar* packed) const {
        const Stretch next = columns_to_ask_for(b, j);
        const std::int64_t columns = b.columns_of_panel(j);
        if (!is_transposed() && columns == T::kColumns) return run_panel(0, rows, b, j, {stored(b, j), g.ldb, b.depth}, next, packed);
        if (is_transposed()) pack_panels_transposed(stored(b, j), g.ldb, columns, b.depth, packed);
        else pack_panels(stored(b, j), g.ldb, columns, b.depth, packed);
        run_panel(0, rows, b, j, {packed, width_of<Scalar>(columns), b.depth}, next);
    }

    /// Keeps the block of B in the cache while the rows of A pass by.
    void run_block(const Block& b) const {
        if (g.packed_b == nullptr && !packs_in_passing()) prepare_panels(b);
        for (std::int64_t i = 0; i < g.m; i += T::kRowBlock) {
            const std::int64_t rows = g.m - i < T::kRowBlock ? g.m - i : T::kRowBlock;
            if (pack_a) pack_columns(g.a + b.p * g.lda + i, g.lda, rows, b.depth, packed_a);
            for (std::int64_t j = 0; j < b.columns; j += T::kColumns) {
                if (i == 0 && packs_in_passing()) pack_and_run_panel(rows, b, j, packed_b + j * b.depth);
                else run_panel(i, rows, b, j, panel(b, j), panel_to_ask_for(b, j, i, rows));
            }
        }
    }

    /// Keeps all rows of A packed while the columns of B pass by, each panel packed in passing.
    void run_past_a(const Block& b) const {
        pack_columns(g.a + b.p * g.lda, g.lda, g.m, b.depth, packed_a);
        for (std::int64_t j = 0; j < b.columns; j += T::kColumns) pack_and_run_panel(g.m, b, j, packed_b);
    }

    /// Whether run_past_a() reads memory less often: A is no larger than B, and both need packing.
    bool runs_past_a() const {
        return T::kAsksAhead && pack_a && pack_b && g.transpose_b == Transpose::No && g.m <= T::kRowsThatStay && g.m <= g.n;
    }
};

template <class Scalar>
constexpr std::int64_t kPackedA = Tile<Scalar>::kDepth* Tile<Scalar>::kRowsThatStay;

template <class Scalar>
void set_rows(const GemmArguments<Scalar>& g) {
    for (std::int64_t i = 0; i < g.m; ++i)
        for (std::int64_t j = 0; j < g.n; ++j)
            g.c[i * g.ldc + j] = ((g.bias == nullptr ? Scalar{0} : g.bias[j]) + (g.plus == nullptr ? Scalar{0} : g.plus[i * g.ldc + j])) *
                                 (g.times == nullptr ? Scalar{1} : g.times[i * g.ldc + j]);
}

template <class Scalar>
void gemm(const GemmArguments<Scalar>& g, Scalar* scratch) {
    using T = Tile<Scalar>;
    if (g.m <= 0 || g.n <= 0) return;
    if (g.k <= 0) {  // empty sum
        if (!g.accumulate) set_rows(g);
        return;
    }
    if (g.m <= kFewRows && g.packed_b == nullptr && g.transpose_b == Transpose::No) return multiply_few_rows(g, scratch);
    const bool pack_a = g.transpose_a == Transpose::Yes && g.n > T::kColumns;
    const bool strided = g.m > 4 * T::kRows && (g.ldb > 256 || g.ldb % kWidth<Scalar> != 0);
    const bool pack_b = g.packed_b == nullptr && (g.transpose_b == Transpose::Yes || strided);
    const GemmPass<Scalar> pass{g, scratch, scratch + kPackedA<Scalar>, pack_a, pack_b};
    if (pass.runs_past_a()) {
        for (std::int64_t p = 0; p < g.k; p += T::kDepth) pass.run_past_a({0, g.n, p, pass.depth_from(p)});
        return;
    }
    for (std::int64_t j = 0; j < g.n; j += T::kColumnBlock) {
        const std::int64_t columns = g.n - j < T::kColumnBlock ? g.n - j : T::kColumnBlock;
        for (std::int64_t p = 0; p < g.k; p += T::kDepth) pass.run_block({j, columns, p, pass.depth_from(p)});
    }
}

template <class Scalar>
constexpr std::int64_t kGemmScratch = kPackedA<Scalar> + Tile<Scalar>::kDepth* Tile<Scalar>::kColumnBlock;
