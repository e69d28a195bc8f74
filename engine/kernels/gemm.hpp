// Part of every kernel build: the matrix product. Included by build.hpp inside an unnamed namespace.
//
// C is computed in tiles of a few rows and up to four vectors of columns that stay in registers while k runs. Every element is summed
// over k in the same order wherever its tile lies, so that splitting rows or columns over threads changes no bit.

template <class Scalar>
struct Tile {
    /// Vectors of the widest tile. Wide and flat, because A's numbers, broadcast one at a time, cost an instruction each.
    static constexpr int kVectors = kVectorBytes == 64 ? 4 : 2;
    static constexpr int kColumns = kVectors * kWidth<Scalar>;
    static constexpr int kRows = 12;  ///< of a narrow tile, which needs many sums to hide an addition's latency; a wide one has half
    static constexpr std::int64_t kDepth = 384;           ///< of one pass over k: a packed panel of B stays in the L2 cache
    static constexpr std::int64_t kRowBlock = 8 * kRows;  ///< rows of A packed at once
    static constexpr std::int64_t kColumnBlock = kVectorBytes == 64 ? 8 * kColumns : 16 * kColumns;
    static constexpr std::int64_t kRowBytes = kVectors * kVectorBytes;  ///< of a packed panel
    static constexpr std::int64_t kFar = 1 << 15;                       ///< bytes over which a C spreads that may not be in the L2 cache
    static constexpr std::int64_t kFarPanels = 1 << 18;  ///< bytes of panels that may not stay there until the next rows need them
    /// Narrower vectors leave no instruction to spare for asking, and read memory more slowly.
    static constexpr bool kAsksAhead = kVectorBytes == 64;

    /// Accumulators, a row of B and a broadcast fit the registers, 32 with AVX-512 and 16 without.
    static constexpr int rows_of(int vectors) { return vectors * kRows <= (kVectorBytes == 64 ? 24 : 12) ? kRows : kRows / 2; }
};

/// What a tile needs besides its size: where A's element (i,p) and B's row p are, and what to do with C.
template <class Scalar>
struct TileOperands {
    const Scalar* a;
    std::int64_t a_row, a_step;  // distance between rows, between steps of k
    const Scalar* b;
    std::int64_t b_step;
    Scalar* c;
    std::int64_t ldc;
    std::int64_t depth, columns;
    Scalar alpha;
    const Scalar* bias;
    const Scalar* plus;       // added where c is written, with the same row distance; c itself to accumulate
    const Scalar* times;      // multiplies what is written, with the same row distance
    bool c_is_far;            // worth asking for before the sums are ready
    const char* ahead;        // what is read after this tile, asked for bit by bit meanwhile
    std::int64_t ahead_step;  // bytes of it for every step of k
};

/// The last panel of a matrix, narrower than a tile: `sums` holds rows of whole vectors.
template <class Scalar>
[[gnu::noinline]] void store_narrow_tile(const TileOperands<Scalar>& o, std::int64_t rows, std::int64_t width, const Scalar* sums) {
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < o.columns; j += kWidth<Scalar>) {
            const std::int64_t at = i * o.ldc + j, count = o.columns - j < kWidth<Scalar> ? o.columns - j : kWidth<Scalar>;
            Vec<Scalar> start = o.bias == nullptr ? Vec<Scalar>{} : load_part(o.bias + j, count, Scalar{0});
            if (o.plus != nullptr) start += load_part(o.plus + at, count, Scalar{0});
            Vec<Scalar> result = o.alpha * load(sums + i * width + j) + start;
            if (o.times != nullptr) result *= load_part(o.times + at, count, Scalar{0});
            store_part(o.c + at, result, count);
        }
}

template <int kRows, int kVectors, class Scalar>
[[gnu::noinline]] void multiply_rows(const Scalar* times, Scalar* c, std::int64_t ldc) {
    for (int i = 0; i < kRows; ++i, c += ldc, times += ldc)
        for (int v = 0; v < kVectors * kWidth<Scalar>; v += kWidth<Scalar>) store(c + v, load(c + v) * load(times + v));
}

/// A's rows are addressed from one pointer for every three, with the row distance as an index: that many fit the registers.
template <int kRows, int kVectors, class Scalar>
[[gnu::noinline]] void compute_tile(const TileOperands<Scalar>& o) {
    constexpr int kW = kWidth<Scalar>, kGroups = (kRows + 2) / 3;
    Vec<Scalar> sums[kRows][kVectors] = {};
    const Scalar* group[kGroups];
    for (int g = 0; g < kGroups; ++g) group[g] = o.a + 3 * g * o.a_row;
    const Scalar* b = o.b;
    const std::int64_t a_row = o.a_row, a_step = o.a_step, b_step = o.b_step;
    const auto step = [&]() __attribute__((always_inline)) {
        Vec<Scalar> row[kVectors];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) row[v] = load(b + v * kW);
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
    if (o.c_is_far && p >= 4 * kRows) {
        // A row of C at a time between the steps: all at once they would hold up the loads of B.
        const Scalar* c = o.c;
        for (int i = 0; i < kRows; ++i, c += o.ldc) {
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) __builtin_prefetch(c + v * kW, 1);
#pragma GCC unroll 4
            for (int s = 0; s < 4; ++s) step();
        }
        p -= 4 * kRows;
    }
    // The loops that follow are not unrolled, because the compiler would then no longer keep every sum in its register.
    if (Tile<Scalar>::kAsksAhead && o.ahead_step > 0) {
        const char* ahead = o.ahead;
        const std::int64_t ahead_step = o.ahead_step;
        const auto step_and_ask = [&]() __attribute__((always_inline)) {
            __builtin_prefetch(ahead, 0, 2);
            ahead += ahead_step;
            step();
        };
        constexpr int kSteps = 12;  // for a row of what goes with C
        const Scalar* other = o.times != nullptr ? o.times : o.plus;
        if (other != nullptr && other != o.c && p >= kSteps * kRows) {
#pragma GCC unroll 1
            for (int i = 0; i < kRows; ++i, other += o.ldc) {
#pragma GCC unroll 4
                for (int v = 0; v < kVectors; ++v) __builtin_prefetch(other + v * kW);
#pragma GCC unroll 1
                for (int s = 0; s < kSteps; ++s) step_and_ask();
            }
            p -= kSteps * kRows;
        }
#pragma GCC unroll 1
        for (; p > 0; --p) step_and_ask();
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
            for (int v = 0; v < kVectors; ++v) store(c + v * kW, alpha * sums[i][v] + (start[v] + load(plus + v * kW)));
        if (o.times != nullptr) multiply_rows<kRows, kVectors>(o.times, o.c, o.ldc);
        return;
    }
    if (o.times != nullptr) {
        const Scalar* times = o.times;
#pragma GCC unroll 12
        for (int i = 0; i < kRows; ++i, c += o.ldc, times += o.ldc)
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) store(c + v * kW, (alpha * sums[i][v] + start[v]) * load(times + v * kW));
        return;
    }
#pragma GCC unroll 12
    for (int i = 0; i < kRows; ++i, c += o.ldc)
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) store(c + v * kW, alpha * sums[i][v] + start[v]);
}

template <int kVectors, class Scalar, int kRows = Tile<Scalar>::rows_of(kVectors)>
ATTN_INLINE void compute_rows(std::int64_t rows, const TileOperands<Scalar>& o) {
    if constexpr (kRows > 0) {
        if (rows == kRows) compute_tile<kRows, kVectors>(o);
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

/// One exchange of the transposition: `a` keeps its lanes without the bit kStep and takes b's there, and the other way round.
template <int kStep, class Scalar, int... kLane>
ATTN_INLINE void exchange_halves(Vec<Scalar>& a, Vec<Scalar>& b, Numbers<kLane...>) {
    constexpr int kW = kWidth<Scalar>;
    const Vec<Scalar> low = __builtin_shufflevector(a, b, ((kLane & kStep) == 0 ? kLane : kW + kLane - kStep)...);
    b = __builtin_shufflevector(a, b, ((kLane & kStep) == 0 ? kLane + kStep : kW + kLane)...);
    a = low;
}

/// Transposes a square of vectors in log2(width) rounds of lane exchanges between rows whose numbers differ in one bit.
template <int kStep, class Scalar>
ATTN_INLINE void transpose_rounds(Vec<Scalar> (&r)[kWidth<Scalar>]) {
    if constexpr (kStep < kWidth<Scalar>) {
#pragma GCC unroll 16
        for (int i = 0; i < kWidth<Scalar>; ++i)
            if ((i & kStep) == 0) exchange_halves<kStep, Scalar>(r[i], r[i | kStep], LaneNumbers<Scalar>{});
        transpose_rounds<2 * kStep, Scalar>(r);
    }
}

/// out[p * out_step + i] = in[i * in_step + p] for i < rows and p < depth; cells i in [rows, padded) become 0.
template <class Scalar>
void pack_transposed(const Scalar* in, std::int64_t in_step, std::int64_t rows, std::int64_t padded, std::int64_t depth, Scalar* out,
                     std::int64_t out_step) {
    constexpr int kW = kWidth<Scalar>;
    for (std::int64_t first = 0; first < padded; first += kW)
        for (std::int64_t p = 0; p < depth; p += kW) {
            const std::int64_t here = rows - first, wide = padded - first, deep = depth - p;
            const Scalar* from = in + first * in_step + p;
            Vec<Scalar> square[kW];
#pragma GCC unroll 16
            for (int i = 0; i < kW; ++i)
                square[i] = i >= here    ? Vec<Scalar>{}
                            : deep >= kW ? load(from + i * in_step)
                                         : load_part(from + i * in_step, deep, Scalar{0});
            transpose_rounds<1, Scalar>(square);
            Scalar* to = out + p * out_step + first;
#pragma GCC unroll 16
            for (int i = 0; i < kW; ++i, to += out_step)
                if (i < deep) {
                    if (wide >= kW) store(to, square[i]);
                    else store_part(to, square[i], wide);
                }
        }
}

/// out[p * width + j] = in[p * in_step + j] for j < columns; the rest of every row of `width` becomes 0.
template <class Scalar>
void pack_rows(const Scalar* in, std::int64_t in_step, std::int64_t columns, std::int64_t width, std::int64_t depth, Scalar* out) {
    constexpr int kW = kWidth<Scalar>;
    for (std::int64_t p = 0; p < depth; ++p, in += in_step, out += width) {
        std::int64_t j = 0;
        for (; j + kW <= columns; j += kW) store(out + j, load(in + j));
        for (; j < width; j += kW) {
            const std::int64_t count = columns - j < kW ? columns - j : kW;
            const Vec<Scalar> rest = count > 0 ? load_part(in + j, count, Scalar{0}) : Vec<Scalar>{};
            if (j + kW <= width) store(out + j, rest);
            else store_part(out + j, rest, width - j);
        }
    }
}

/// Rows ahead of the one being packed that are asked for: a matrix's rows are too far apart for the processor to foresee the next.
constexpr std::int64_t kRowsAhead = 8;

/// Blocks of kRows columns, each [depth, kRows], of a matrix [depth, columns]; the last one is filled up with 0.
template <class Scalar>
void pack_columns(const Scalar* in, std::int64_t in_step, std::int64_t columns, std::int64_t depth, Scalar* out) {
    constexpr int kW = kWidth<Scalar>, kRows = Tile<Scalar>::kRows, kLine = 64 / sizeof(Scalar);
    const std::int64_t whole = columns / kRows * kRows;
    const Scalar* row = in;
    // Along whole rows, which is the order that memory is read fastest in.
    for (std::int64_t p = 0; p < depth; ++p, row += in_step) {
        for (std::int64_t j = 0; j < columns; j += kLine) __builtin_prefetch(row + kRowsAhead * in_step + j);
        for (std::int64_t j = 0; j < whole; j += kRows) {
            Scalar* to = out + j * depth + p * kRows;
            int v = 0;
            for (; v + kW <= kRows; v += kW) store(to + v, load(row + j + v));
            if (v < kRows) store_part(to + v, load_part(row + j + v, kRows - v, Scalar{0}), kRows - v);
        }
    }
    if (whole < columns) pack_rows(in + whole, in_step, columns - whole, std::int64_t{kRows}, depth, out + whole * depth);
}

/// Numbers in a row of a packed panel: whole vectors.
template <class Scalar>
ATTN_INLINE std::int64_t width_of(std::int64_t columns) {
    return (columns + kWidth<Scalar> - 1) / kWidth<Scalar> * kWidth<Scalar>;
}

/// The panel that is narrower than the others, unless its columns are a multiple of `in_place`.
template <class Scalar>
void pack_last_panel(const Scalar* b, std::int64_t ldb, std::int64_t columns, std::int64_t depth, Scalar* out, std::int64_t in_place) {
    const std::int64_t whole = columns / Tile<Scalar>::kColumns * Tile<Scalar>::kColumns, rest = columns - whole;
    if (rest % in_place != 0) pack_rows(b + whole, ldb, rest, width_of<Scalar>(rest), depth, out + whole * depth);
}

/// The panels, each [depth, width], of a matrix [depth, columns].
template <class Scalar>
void pack_panels(const Scalar* b, std::int64_t ldb, std::int64_t columns, std::int64_t depth, Scalar* out) {
    using T = Tile<Scalar>;
    const std::int64_t whole = columns / T::kColumns * T::kColumns;
    // Along whole rows, which is the order that memory is read fastest in.
    for (std::int64_t row = 0; row < depth; ++row)
        for (std::int64_t j = 0; j < whole; j += T::kColumns)
#pragma GCC unroll 4
            for (int v = 0; v < T::kVectors; ++v) {
                const std::int64_t lane = v * kWidth<Scalar>;
                __builtin_prefetch(b + (row + kRowsAhead) * ldb + j + lane);
                store(out + j * depth + row * T::kColumns + lane, load(b + row * ldb + j + lane));
            }
    pack_last_panel(b, ldb, columns, depth, out, T::kColumns);
}

/// The same of a matrix that is stored as [columns, depth].
template <class Scalar>
void pack_panels_transposed(const Scalar* b, std::int64_t ldb, std::int64_t columns, std::int64_t depth, Scalar* out) {
    using T = Tile<Scalar>;
    for (std::int64_t j = 0; j < columns; j += T::kColumns) {
        const std::int64_t here = columns - j < T::kColumns ? columns - j : T::kColumns, width = width_of<Scalar>(here);
        pack_transposed(b + j * ldb, ldb, here, width, depth, out + j * depth, width);
    }
}

template <class Scalar>
std::int64_t packed_size(std::int64_t k, std::int64_t n) {
    return k * width_of<Scalar>(n);
}

template <class Scalar>
void pack_b(const Scalar* b, std::int64_t ldb, Transpose transpose, std::int64_t k, std::int64_t n, Scalar* packed) {
    if (transpose == Transpose::Yes) pack_panels_transposed(b, ldb, n, k, packed);
    else pack_panels(b, ldb, n, k, packed);
}

/// Rows of a stored matrix whose distance maps them all to few cache sets evict each other while a tile reads them together.
template <class Scalar>
ATTN_INLINE bool aliases(std::int64_t step) {
    return step * static_cast<std::int64_t>(sizeof(Scalar)) % 2048 == 0;
}

template <class Scalar>
struct GemmPass {
    using T = Tile<Scalar>;
    const GemmArguments<Scalar>& g;
    Scalar *packed_a, *packed_b;
    bool pack_a, pack_b;

    /// B's panels of columns [first, first + columns) for steps [p, p + depth) of k; those that a tile reads in place are left out.
    void prepare_panels(std::int64_t first, std::int64_t columns, std::int64_t p, std::int64_t depth) const {
        const bool transposed = g.transpose_b == Transpose::Yes;
        const Scalar* from = transposed ? g.b + first * g.ldb + p : g.b + p * g.ldb + first;
        if (transposed) pack_panels_transposed(from, g.ldb, columns, depth, packed_b);
        else if (pack_b) pack_panels(from, g.ldb, columns, depth, packed_b);
        else pack_last_panel(from, g.ldb, columns, depth, packed_b, kWidth<Scalar>);
    }

    void prepare_rows(std::int64_t i, std::int64_t rows, std::int64_t p, std::int64_t depth) const {
        if (g.transpose_a == Transpose::Yes) return pack_columns(g.a + p * g.lda + i, g.lda, rows, depth, packed_a);
        for (std::int64_t r = 0; r < rows; r += T::kRows) {
            const std::int64_t here = rows - r < T::kRows ? rows - r : T::kRows;
            pack_transposed(g.a + (i + r) * g.lda + p, g.lda, here, T::kRows, depth, packed_a + r * depth, T::kRows);
        }
    }

    /// A panel of B and the distance between its rows.
    struct Panel {
        const Scalar* b;
        std::int64_t step;
    };

    /// That of columns [first + j, first + j + columns) for steps [p, p + depth) of k, where `first` begins what is prepared.
    Panel panel(std::int64_t first, std::int64_t j, std::int64_t columns, std::int64_t p, std::int64_t depth) const {
        if (g.packed_b != nullptr) {
            const std::int64_t at = first + j, left = g.packed_n - at, width = width_of<Scalar>(left < T::kColumns ? left : T::kColumns);
            return {g.packed_b + at * g.packed_k + p * width, width};
        }
        const std::int64_t width = width_of<Scalar>(columns);
        if (!pack_b && columns == width) return {g.b + p * g.ldb + first + j, g.ldb};
        return {packed_b + j * depth, width};
    }

    /// The numbers of the panel after that of column first + j: the next rows begin with the first again. Null if it is not packed as a
    /// whole tile needs it.
    const Scalar* panel_after(std::int64_t first, std::int64_t j, std::int64_t columns, std::int64_t p, std::int64_t depth) const {
        const std::int64_t next = j + T::kColumns < columns ? j + T::kColumns : 0, left = columns - next;
        const Panel there = panel(first, next, left < T::kColumns ? left : T::kColumns, p, depth);
        return there.step == T::kColumns ? there.b : nullptr;
    }

    /// All tiles of one panel over a block of rows; they bring the `next` one into the L2 cache, each a share of it.
    void run_panel(std::int64_t i, std::int64_t rows, std::int64_t j, std::int64_t columns, std::int64_t p, std::int64_t depth,
                   const Panel& panel, const Scalar* next) const {
        const std::int64_t vectors = width_of<Scalar>(columns) / kWidth<Scalar>;
        TileOperands<Scalar> o{};
        o.depth = depth, o.columns = columns, o.alpha = g.alpha, o.ldc = g.ldc;
        o.bias = g.bias == nullptr || p > 0 ? nullptr : g.bias + j;
        o.b = panel.b, o.b_step = panel.step;
        const bool adds = g.accumulate || p > 0;
        o.c_is_far = g.m * g.ldc * static_cast<std::int64_t>(sizeof(Scalar)) > T::kFar;
        const std::int64_t tile_rows = T::rows_of(static_cast<int>(vectors));
        std::int64_t share = 0;  // of the next panel, in bytes
        if (next != nullptr) {
            share = depth * T::kRowBytes * tile_rows / rows;
            o.ahead = reinterpret_cast<const char*>(next), o.ahead_step = share / (depth - 4 * tile_rows);
        }
        for (std::int64_t r = 0; r < rows; r += tile_rows) {
            const std::int64_t here = rows - r < tile_rows ? rows - r : tile_rows;
            if (pack_a) o.a = packed_a + r / T::kRows * T::kRows * depth + r % T::kRows, o.a_row = 1, o.a_step = T::kRows;
            else if (g.transpose_a == Transpose::Yes) o.a = g.a + p * g.lda + i + r, o.a_row = 1, o.a_step = g.lda;
            else o.a = g.a + (i + r) * g.lda + p, o.a_row = g.lda, o.a_step = 1;
            const std::int64_t at = (i + r) * g.ldc + j;
            o.c = g.c + at;
            o.plus = adds ? o.c : g.plus == nullptr ? nullptr : g.plus + at;
            o.times = g.times == nullptr || p + depth < g.k ? nullptr : g.times + at;
            compute_tile_of<Scalar>(here, vectors, o);
            o.ahead += share;
        }
    }

    void run_block(std::int64_t first_column, std::int64_t columns, std::int64_t p, std::int64_t depth) const {
        if (g.packed_b == nullptr) prepare_panels(first_column, columns, p, depth);
        const bool far = T::kAsksAhead && depth * columns * static_cast<std::int64_t>(sizeof(Scalar)) > T::kFarPanels;
        for (std::int64_t i = 0; i < g.m; i += T::kRowBlock) {
            const std::int64_t rows = g.m - i < T::kRowBlock ? g.m - i : T::kRowBlock;
            if (pack_a) prepare_rows(i, rows, p, depth);
            for (std::int64_t j = 0; j < columns; j += T::kColumns) {
                const std::int64_t here = columns - j < T::kColumns ? columns - j : T::kColumns;
                const Scalar* next = far ? panel_after(first_column, j, columns, p, depth) : nullptr;
                run_panel(i, rows, first_column + j, here, p, depth, panel(first_column, j, here, p, depth), next);
            }
        }
    }
};

template <class Scalar>
constexpr std::int64_t kPackedA = Tile<Scalar>::kDepth* Tile<Scalar>::kRowBlock;

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
    if (g.k <= 0) {  // an empty sum
        if (!g.accumulate) set_rows(g);
        return;
    }
    const bool pack_a = g.transpose_a == Transpose::Yes ? g.n > T::kColumns : (aliases<Scalar>(g.lda) && g.n > 2 * T::kColumns);
    const bool pack_b = g.transpose_b == Transpose::Yes || (g.m > 4 * T::kRows && (g.ldb > 256 || g.ldb % kWidth<Scalar> != 0));
    const GemmPass<Scalar> pass{g, scratch, scratch + kPackedA<Scalar>, pack_a, pack_b};
    for (std::int64_t j = 0; j < g.n; j += T::kColumnBlock) {
        const std::int64_t columns = g.n - j < T::kColumnBlock ? g.n - j : T::kColumnBlock;
        for (std::int64_t p = 0; p < g.k; p += T::kDepth) pass.run_block(j, columns, p, g.k - p < T::kDepth ? g.k - p : T::kDepth);
    }
}

template <class Scalar>
constexpr std::int64_t kGemmScratch = kPackedA<Scalar> + Tile<Scalar>::kDepth* Tile<Scalar>::kColumnBlock;
