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
    static constexpr std::int64_t kLeastAhead = 4 * kRows + 1;  ///< depth of panels that are asked for; a tile asks for C in 4 kRows steps

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

/// Lane by lane, vector kVector of rows that begin with kRows numbers each, when those are laid end to end: they lie in row kVector and
/// the next one.
template <int kVector, class Scalar, int... kLane>
ATTN_INLINE Vec<Scalar> joined(Vec<Scalar> row, Vec<Scalar> next, Numbers<kLane...>) {
    constexpr int kW = kWidth<Scalar>, kRows = Tile<Scalar>::kRows, kFirst = kVector * kW;
    return __builtin_shufflevector(row, next,
                                   ((kFirst + kLane) / kRows == kVector ? (kFirst + kLane) % kRows : kW + (kFirst + kLane) % kRows)...);
}

/// Rows whose first kRows numbers make three whole vectors, the fewest stores there can be.
template <class Scalar>
constexpr std::int64_t kRowGroup = kWidth<Scalar> >= 4 ? kWidth<Scalar> / 4 : 1;

/// The first kRows numbers of each of kRowGroup rows, end to end.
template <class Scalar>
ATTN_INLINE void join_rows(const Scalar* in, std::int64_t in_step, Scalar* out) {
    constexpr int kW = kWidth<Scalar>, kRows = Tile<Scalar>::kRows;
    if constexpr (kW == 16) {
        Vec<Scalar> row[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) row[i] = load_part(in + i * in_step, kRows, Scalar{0});
        store(out, joined<0, Scalar>(row[0], row[1], LaneNumbers<Scalar>{}));
        store(out + kW, joined<1, Scalar>(row[1], row[2], LaneNumbers<Scalar>{}));
        store(out + 2 * kW, joined<2, Scalar>(row[2], row[3], LaneNumbers<Scalar>{}));
    } else if constexpr (kW == 8) {
        constexpr int kHalf = kW / 2;
        const Scalar* next = in + in_step;
        store(out, load(in));
        store(out + kW, __builtin_shufflevector(load(in + kHalf), load(next), 4, 5, 6, 7, 8, 9, 10, 11));
        store(out + 2 * kW, load(next + kHalf));
    } else {
        for (int v = 0; v < kRows; v += kW) store(out + v, load(in + v));
    }
}

/// Blocks of kRows columns, each [depth, kRows], of a matrix [depth, columns]; the last one is filled up with 0.
template <class Scalar>
void pack_columns(const Scalar* in, std::int64_t in_step, std::int64_t columns, std::int64_t depth, Scalar* out) {
    constexpr std::int64_t kRows = Tile<Scalar>::kRows, kLine = 64 / sizeof(Scalar), kGroup = kRowGroup<Scalar>;
    const std::int64_t whole = columns / kRows * kRows;
    // Along whole rows, which is the order that memory is read fastest in.
    std::int64_t p = 0;
    for (const Scalar* row = in; p + kGroup <= depth; p += kGroup, row += kGroup * in_step) {
        for (std::int64_t i = kRowsAhead; i < kRowsAhead + kGroup; ++i)
            for (std::int64_t j = 0; j < columns; j += kLine) __builtin_prefetch(row + i * in_step + j);
        for (std::int64_t j = 0; j < whole; j += kRows) join_rows(row + j, in_step, out + j * depth + p * kRows);
    }
    for (std::int64_t j = 0; j < whole && p < depth; j += kRows)
        pack_rows(in + p * in_step + j, in_step, kRows, kRows, depth - p, out + j * depth + p * kRows);
    if (whole < columns) pack_rows(in + whole, in_step, columns - whole, kRows, depth, out + whole * depth);
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

    /// Columns [first, first + columns) of B for steps [p, p + depth) of k.
    struct Block {
        std::int64_t first, columns, p, depth;

        std::int64_t columns_of_panel(std::int64_t j) const { return columns - j < T::kColumns ? columns - j : T::kColumns; }
    };

    /// A block's panels; those that a tile reads in place are left out.
    void prepare_panels(const Block& b) const {
        const bool transposed = g.transpose_b == Transpose::Yes;
        const Scalar* from = transposed ? g.b + b.first * g.ldb + b.p : g.b + b.p * g.ldb + b.first;
        if (transposed) pack_panels_transposed(from, g.ldb, b.columns, b.depth, packed_b);
        else if (pack_b) pack_panels(from, g.ldb, b.columns, b.depth, packed_b);
        else pack_last_panel(from, g.ldb, b.columns, b.depth, packed_b, kWidth<Scalar>);
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

    /// That of a block's columns from j on.
    Panel panel(const Block& b, std::int64_t j) const {
        if (g.packed_b != nullptr) {
            const std::int64_t at = b.first + j, left = g.packed_n - at, width = width_of<Scalar>(left < T::kColumns ? left : T::kColumns);
            return {g.packed_b + at * g.packed_k + b.p * width, width};
        }
        const std::int64_t columns = b.columns_of_panel(j), width = width_of<Scalar>(columns);
        if (!pack_b && columns == width) return {g.b + b.p * g.ldb + b.first + j, g.ldb};
        return {packed_b + j * b.depth, width};
    }

    /// The same if it is packed as a whole tile needs it, else null.
    const Scalar* whole_panel(const Block& b, std::int64_t j) const {
        const Panel there = panel(b, j);
        return there.step == T::kColumns ? there.b : nullptr;
    }

    /// The panel that comes after the one from column j on, where it may not be in the cache: in blocks too large to stay there, and
    /// among those that others packed long ago, when the first rows need them. Null where it is, or where asking is not worth it.
    const Scalar* panel_to_ask_for(const Block& b, std::int64_t j, std::int64_t i, std::int64_t rows) const {
        if (!T::kAsksAhead || b.depth < T::kLeastAhead) return nullptr;
        const bool far = b.depth * b.columns * static_cast<std::int64_t>(sizeof(Scalar)) > T::kFarPanels;
        const bool given = g.packed_b != nullptr && g.packed_is_far;
        if (j + T::kColumns < b.columns) return far || (given && i == 0) ? whole_panel(b, j + T::kColumns) : nullptr;
        if (i + rows < g.m) return far ? whole_panel(b, 0) : nullptr;
        const Block next{b.first, b.columns, b.p + b.depth, depth_from(b.p + b.depth)};
        return given && next.depth > 0 ? whole_panel(next, 0) : nullptr;
    }

    /// Steps of k that a pass which begins with step p makes.
    std::int64_t depth_from(std::int64_t p) const { return g.k - p < T::kDepth ? g.k - p : T::kDepth; }

    /// Of the tile that begins at row r. Two of nearly equal height take less time than a whole one and a low one, which has too few sums
    /// to keep the processor busy; in packed rows a tile lies in one block of kRows.
    std::int64_t rows_of_tile(std::int64_t r, std::int64_t rows, std::int64_t tile_rows) const {
        const std::int64_t left = rows - r;
        if (left <= tile_rows) return left;
        const bool halves = left < 2 * tile_rows && (!pack_a || (r % T::kRows == 0 && left <= T::kRows));
        return halves ? (left + 1) / 2 : tile_rows;
    }

    /// All tiles of a block's panel from column j on over rows [i, i + rows); they bring the `next` panel into the L2 cache, each a share
    /// of it.
    void run_panel(std::int64_t i, std::int64_t rows, const Block& b, std::int64_t j, const Scalar* next) const {
        const std::int64_t p = b.p, depth = b.depth, columns = b.columns_of_panel(j), first = b.first + j;
        const std::int64_t vectors = width_of<Scalar>(columns) / kWidth<Scalar>;
        const Panel here_b = panel(b, j);
        TileOperands<Scalar> o{};
        o.depth = depth, o.columns = columns, o.alpha = g.alpha, o.ldc = g.ldc;
        o.bias = g.bias == nullptr || p > 0 ? nullptr : g.bias + first;
        o.b = here_b.b, o.b_step = here_b.step;
        const bool adds = g.accumulate || p > 0;
        o.c_is_far = g.m * g.ldc * static_cast<std::int64_t>(sizeof(Scalar)) > T::kFar;
        const std::int64_t tile_rows = T::rows_of(static_cast<int>(vectors));
        std::int64_t share = 0;  // of the next panel, in bytes
        if (next != nullptr) {
            share = depth * T::kRowBytes * tile_rows / rows;
            o.ahead = reinterpret_cast<const char*>(next), o.ahead_step = share / (depth - 4 * tile_rows);
        }
        for (std::int64_t r = 0, here; r < rows; r += here) {
            here = rows_of_tile(r, rows, tile_rows);
            if (pack_a) o.a = packed_a + r / T::kRows * T::kRows * depth + r % T::kRows, o.a_row = 1, o.a_step = T::kRows;
            else if (g.transpose_a == Transpose::Yes) o.a = g.a + p * g.lda + i + r, o.a_row = 1, o.a_step = g.lda;
            else o.a = g.a + (i + r) * g.lda + p, o.a_row = g.lda, o.a_step = 1;
            const std::int64_t at = (i + r) * g.ldc + first;
            o.c = g.c + at;
            o.plus = adds ? o.c : g.plus == nullptr ? nullptr : g.plus + at;
            o.times = g.times == nullptr || p + depth < g.k ? nullptr : g.times + at;
            compute_tile_of<Scalar>(here, vectors, o);
            o.ahead += share;
        }
    }

    void run_block(const Block& b) const {
        if (g.packed_b == nullptr) prepare_panels(b);
        for (std::int64_t i = 0; i < g.m; i += T::kRowBlock) {
            const std::int64_t rows = g.m - i < T::kRowBlock ? g.m - i : T::kRowBlock;
            if (pack_a) prepare_rows(i, rows, b.p, b.depth);
            for (std::int64_t j = 0; j < b.columns; j += T::kColumns) run_panel(i, rows, b, j, panel_to_ask_for(b, j, i, rows));
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
        for (std::int64_t p = 0; p < g.k; p += T::kDepth) pass.run_block({j, columns, p, pass.depth_from(p)});
    }
}

template <class Scalar>
constexpr std::int64_t kGemmScratch = kPackedA<Scalar> + Tile<Scalar>::kDepth* Tile<Scalar>::kColumnBlock;
