// Part of every kernel build: the product of a single row with a matrix whose columns are contiguous. Included by build.hpp inside an
// unnamed namespace.

/// Prefetches what follows in a vector of columns, which are too short for the hardware prefetcher: a chunk that is small enough for the
/// first-level cache, asking for what is contiguous together; of columns shorter than a chunk the next ones.
struct NextChunk {
    static constexpr std::int64_t kNumbers = 128, kLine = 16, kLines = kNumbers / kLine;

    const float* first;  ///< of the columns
    std::int64_t row, k;

    /// Asks for as many lines as the step at q reads.
    ATTN_INLINE void ask(std::int64_t q) const {
        constexpr std::int64_t kW = kWidth<float>, kAtOnce = kW * kW / kLine, kShare = kW / kAtOnce;
        if (k < kNumbers) {
#pragma GCC unroll 16
            for (std::int64_t i = 0; i < kAtOnce; ++i) __builtin_prefetch(first + (kW + i * kShare + q / kW % kShare) * row + q);
            return;
        }
        const std::int64_t within = q % kNumbers, after = q - within + kNumbers;
        const float* const next = after < k ? first + after : first + kW * row;
        const std::int64_t line = within / kW * kAtOnce;
#pragma GCC unroll 16
        for (std::int64_t i = 0; i < kAtOnce; ++i) __builtin_prefetch(next + (line + i) / kLines * row + (line + i) % kLines * kLine);
    }
};

/// Sums of one vector of columns over steps [p, p + depth) of k, each in the order of k. Column i begins at first + i * row.
ATTN_INLINE Vec<float> sum_columns(const float* a, const float* first, std::int64_t row, std::int64_t p, std::int64_t depth,
                                   const NextChunk* next) {
    constexpr int kW = kWidth<float>;
    Vec<float> sum{};
    for (std::int64_t q = p; q < p + depth; q += kW) {
        Vec<float> square[kW];
#pragma GCC unroll 16
        for (int i = 0; i < kW; ++i) square[i] = load(first + i * row + q);
        if (next != nullptr) next->ask(q);
        transpose(square);
#pragma GCC unroll 16
        for (int i = 0; i < kW; ++i) sum = multiply_add(splat(a[q + i]), square[i], sum);
    }
    return sum;
}

/// Stores the lanes of `sum` from `first` on, which cover steps [p, p + depth) of k, to columns [j, j + columns) of C.
ATTN_INLINE void store_sums(const GemmArguments<float>& g, std::int64_t j, std::int64_t columns, std::int64_t p, std::int64_t depth,
                            Vec<float> sum, std::int64_t first = 0) {
    float sums[2 * kWidth<float>] = {};  // twice as many, because a whole vector is read from `first` on
    store(sums, sum);
    store_row_sums(g, j, columns, p, depth, sums + first);
}

/// How many steps of k are summed before they are added to C, the same as in a tile.
ATTN_INLINE std::int64_t depth_at(const GemmArguments<float>& g, std::int64_t p) {
    return g.k - p < Tile<float>::kDepth ? g.k - p : Tile<float>::kDepth;
}

/// Computes a row of C for a B of floats and returns the number of columns computed: all of them unless there is less than a vector. k must
/// be a multiple of the vector width.
std::int64_t multiply_row_across(const GemmArguments<float>& g, const StoredMatrix& b) {
    constexpr std::int64_t kW = kWidth<float>;
    if (g.n < kW) return 0;
    const float* const numbers = reinterpret_cast<const float*>(b.data);
    const std::int64_t row = b.row_bytes / static_cast<std::int64_t>(sizeof(float));
    for (std::int64_t j = 0; j < g.n; j += kW) {
        // The last vector may begin among columns that are already known, which are not stored again.
        const std::int64_t known = j + kW > g.n ? j + kW - g.n : 0;
        const NextChunk next{numbers + (j - known) * row, row, g.k};
        for (std::int64_t p = 0; p < g.k; p += Tile<float>::kDepth)
            store_sums(g, j, kW - known, p, depth_at(g, p), sum_columns(g.a, next.first, row, p, depth_at(g, p), &next), known);
    }
    return g.n;
}

/// The same for any number kind. Columns are first widened in chunks that begin at a block boundary and end with a pass over k.
void multiply_row_widened(const GemmArguments<float>& g, const StoredMatrix& b, std::int64_t first_column, std::int64_t end_column) {
    constexpr std::int64_t kW = kWidth<float>, kDepth = Tile<float>::kDepth, kAtOnce = 2 * kDepth;
    static_assert(kAtOnce % kWidenedNumbers == 0);
    alignas(64) float rows[kW * kAtOnce];
    for (std::int64_t j = first_column; j < end_column; j += kW) {
        const std::int64_t columns = end_column - j < kW ? end_column - j : kW;
        for (std::int64_t q = 0; q < g.k; q += kAtOnce) {
            const std::int64_t numbers = g.k - q < kAtOnce ? g.k - q : kAtOnce;
            for (std::int64_t i = 0; i < columns; ++i)
                widen(b.kind, b.data + (j + i) * b.row_bytes + q / b.block_numbers * b.block_bytes, numbers, rows + i * kAtOnce);
            for (std::int64_t p = q; p < q + numbers; p += kDepth)
                store_sums(g, j, columns, p, depth_at(g, p), sum_columns(g.a, rows - q, kAtOnce, p, depth_at(g, p), nullptr));
        }
    }
}

#if defined(__AVX2__)
/// Prefetches a line into the outer caches. On its way into the innermost one it would keep one of the core's few line-fill buffers until
/// memory answers, and the loads of what is being multiplied need them, too.
ATTN_INLINE void ask_for_line(const Byte* at) { __builtin_prefetch(at, 0, 1); }

/// What comes next in memory, prefetched in the order of addresses, which memory and processor prefer to the order in which columns that
/// are multiplied together are read; and only so much at a time, because a core has only so many line-fill buffers.
template <int kPartBytes>
struct NextBytes {
    static constexpr int kLine = 64, kLines = (kPartBytes + kLine - 1) / kLine;  ///< per part
    const Byte* at;

    /// Prefetches an eighth of a part.
    ATTN_INLINE void ask(int eighth) const {
#pragma GCC unroll 16
        for (int line = eighth * kLines / 8; line < (eighth + 1) * kLines / 8; ++line) ask_for_line(at + line * kLine);
    }
    ATTN_INLINE void end_part() { at += kLines * kLine; }
};
/// For kSets vectors of columns.
template <class Columns, int kSets>
using NextOf = NextBytes<kSets * kWidth<float> * 32 * Columns::kBlock.bytes / Columns::kBlock.numbers>;

/// A block in each of kSets vectors of columns.
struct Blocks {
    const Byte* first;
    const RowBytes& rows;

    ATTN_INLINE SideBySide of(int set) const { return {first + set * kWidth<float> * rows.one, rows}; }
};

/// Numbers of kSets vectors of columns of a kind with kNumbers = 32.
template <class Columns, int kSets>
struct Sets {
    Columns of[kSets];
    static constexpr int kSteps = 8, kPieces = Columns::kPieces * kSets;

    /// Loads what is due before step `end`, if all is loaded evenly over kSteps steps.
    ATTN_INLINE void load(const Blocks& blocks, std::int64_t p, int begin, int end) {
#pragma GCC unroll 32
        for (int piece = begin * kPieces / kSteps; piece < end * kPieces / kSteps; ++piece)
            of[piece % kSets].load(blocks.of(piece % kSets), p, piece / kSets);
    }
};

/// Multiplies four numbers of every column. Meanwhile loads some of the `following` ones, from position p on, and prefetches some of the
/// `next` columns.
template <int kStep, class Columns, int kSets>
ATTN_INLINE void add_four(const float* a, Sets<Columns, kSets>& columns, Sets<Columns, kSets>& following, const Blocks& blocks,
                          std::int64_t p, NextOf<Columns, kSets>& next, Vec<float> (&sums)[kSets]) {
    next.ask(kStep);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
#pragma GCC unroll 4
        for (int set = 0; set < kSets; ++set)
            sums[set] = multiply_add(splat(a[kStep * 4 + i]), columns.of[set].value(0, kStep, i), sums[set]);
    following.load(blocks, p, kStep, kStep + 1);
    __asm__ volatile("" ::: "memory");  // keeps the compiler from moving all loads together
    if constexpr (kStep == 7) next.end_part();
}

/// Multiplies 32 numbers of every column and loads those that follow. Sums have to wait for each other, and loads that came after
/// all of them would be too far behind for the processor to begin them meanwhile.
template <class Columns, int kSets, int... kStep>
ATTN_INLINE void add_and_load(const float* a, Sets<Columns, kSets>& columns, Sets<Columns, kSets>& following, const Blocks& blocks,
                              std::int64_t p, NextOf<Columns, kSets>& next, Vec<float> (&sums)[kSets], Numbers<kStep...>) {
    (add_four<kStep>(a, columns, following, blocks, p, next, sums), ...);
}

/// Computes columns [j, j + kSets * width) of C: several vectors at a time, because a single sum would wait for its own latency.
template <class Columns, int kSets>
void multiply_while_loading(const GemmArguments<float>& g, const StoredMatrix& b, std::int64_t j) {
    constexpr std::int64_t kCount = kSets * kWidth<float>;
    constexpr BlockSize kBlock = Columns::kBlock;
    const RowBytes rows(b.row_bytes);
    const Byte* const first = b.data + j * b.row_bytes;
    const auto blocks_at = [&](std::int64_t p) { return Blocks{first + p / kBlock.numbers * kBlock.bytes, rows}; };
    NextOf<Columns, kSets> next{first + kCount * b.row_bytes};
    Sets<Columns, kSets> buffers[2], *now = buffers, *following = buffers + 1;
    now->load(blocks_at(0), 0, 0, now->kSteps);
    for (std::int64_t p = 0; p < g.k; p += Tile<float>::kDepth) {
        const std::int64_t depth = depth_at(g, p);
        Vec<float> sum[kSets] = {};
        for (std::int64_t q = p; q < p + depth; q += 32) {
            const std::int64_t after = q + 32 < g.k ? q + 32 : q;  // at the end something is loaded again
            add_and_load(g.a + q, *now, *following, blocks_at(after), after, next, sum, typename CountTo<8>::Type{});
            auto* const used = now;
            now = following, following = used;
        }
        float sums[kCount];
        for (int set = 0; set < kSets; ++set) store(sums + set * kWidth<float>, sum[set]);
        store_row_sums(g, j, kCount, p, depth, sums);
    }
}

/// The same for kinds with kNumbers = 128, and for the first kRows rows of C. With kPacks also copies the columns to `panel`, in the time
/// that the sums leave. So many numbers, written out as above, take more instructions than the processor keeps decoded, and there are
/// enough of them to load all at once: the last ones are still multiplied meanwhile.
template <class Columns, int kSets, int kRows, bool kPacks>
void multiply_after_loading(const GemmArguments<float>& g, const StoredMatrix& b, std::int64_t j, [[maybe_unused]] float* panel) {
    constexpr std::int64_t kW = kWidth<float>, kCount = kSets * kW;
    constexpr BlockSize kBlock = Columns::kBlock;
    // Every step prefetches its share of what comes next: of the next columns, in the order of addresses, or when packing, which takes
    // longer than reading, of what follows in each column.
    constexpr std::int64_t kAhead = (4 * kCount * kBlock.bytes + kBlock.numbers - 1) / kBlock.numbers, kLines = (kAhead + 63) / 64;
    const RowBytes rows(b.row_bytes);
    const Byte* const first = b.data + j * b.row_bytes;
    const Byte* ahead = first + kCount * b.row_bytes;
    const std::int64_t a_row = g.lda;
    for (std::int64_t p = 0; p < g.k; p += Tile<float>::kDepth) {
        const std::int64_t depth = depth_at(g, p);
        Vec<float> sum[kRows][kSets] = {};
        for (std::int64_t q = p; q < p + depth; q += Columns::kNumbers) {
            Columns columns[kSets];
            const Byte* const block = first + q / kBlock.numbers * kBlock.bytes;
            if constexpr (kPacks) ahead = ahead_of(first, b.row_bytes, q * kBlock.bytes / kBlock.numbers, kCount);
            for (int set = 0; set < kSets; ++set) columns[set].load({block + set * kW * rows.one, rows}, q, 0);
#pragma GCC unroll 4
            for (int part = 0; part < Columns::kNumbers / 32; ++part) {
#pragma GCC unroll 4
                for (int set = 0; set < kSets; ++set) columns[set].begin(part);
                const float* a = g.a + q + part * 32;
#pragma GCC unroll 1
                for (int fours = 0; fours < 8; ++fours, a += 4, ahead += kPacks ? rows.one : kAhead) {
                    if constexpr (kPacks) {
                        prefetch_column<Columns>(ahead);
                    } else {
#pragma GCC unroll 8
                        for (std::int64_t line = 0; line < kLines; ++line) ask_for_line(ahead + line * kAhead / kLines);
                    }
#pragma GCC unroll 4
                    for (int i = 0; i < 4; ++i) {
                        Vec<float> value[kSets];
#pragma GCC unroll 4
                        for (int set = 0; set < kSets; ++set) {
                            value[set] = columns[set].value(part, fours, i);
                            if constexpr (kPacks) store(panel + set * kW, value[set]);
                        }
#pragma GCC unroll 8
                        for (int row = 0; row < kRows; ++row) {
                            Vec<float> x = splat(a[row * a_row + i]);
                            if constexpr (kRows > 1) forget_origin(x);
#pragma GCC unroll 4
                            for (int set = 0; set < kSets; ++set) sum[row][set] = multiply_add(x, value[set], sum[row][set]);
                        }
                        if constexpr (kPacks) panel += Tile<float>::kColumns;
                    }
                }
            }
        }
        float sums[kRows * kCount];
#pragma GCC unroll 16
        for (int i = 0; i < kRows * kSets; ++i) store(sums + i * kW, sum[i / kSets][i % kSets]);
        for (int row = 0; row < kRows; ++row) store_row_sums(row_of(g, row), j, kCount, p, depth, sums + row * kCount);
    }
}

template <class Columns, int kSets>
void multiply_side_by_side(const GemmArguments<float>& g, const StoredMatrix& b, std::int64_t j) {
    if constexpr (Columns::kNumbers == 32) multiply_while_loading<Columns, kSets>(g, b, j);
    else multiply_after_loading<Columns, kSets, 1, false>(g, b, j, nullptr);
}

/// Vectors of columns at a time. While one sum waits for its own latency, the numbers of the others are unpacked. With AVX-512 two vectors
/// are enough for that, and memory is read faster with fewer columns at once.
/// Half precision with AVX-512 is bound by memory, which is read faster with fewer columns at once.
template <class Columns>
constexpr int sets_of() {
    if (Columns::kNumbers > 32) return kVectorBytes == 64 ? 2 : 3;
    return Columns::kBlock.numbers == 1 && kVectorBytes == 64 ? 1 : 2;
}

/// Multiplies as many whole vectors of columns as there are and returns their number of columns; 0 if k is not a multiple of kNumbers.
template <class Columns>
std::int64_t multiply_columns(const GemmArguments<float>& g, const StoredMatrix& b) {
    constexpr std::int64_t kW = kWidth<float>, kSets = sets_of<Columns>();
    static_assert(Tile<float>::kDepth % Columns::kNumbers == 0);
    if (g.k % Columns::kNumbers != 0) return 0;
    std::int64_t j = 0;
    for (; j + kSets * kW <= g.n; j += kSets * kW) multiply_side_by_side<Columns, kSets>(g, b, j);
    for (; j + kW <= g.n; j += kW) multiply_side_by_side<Columns, 1>(g, b, j);
    return j;
}
#endif

void multiply_row_stored(const GemmArguments<float>& g, const StoredMatrix& b) {
    std::int64_t done = 0;
    if (b.kind == NumberKind::F32) {
        if (reinterpret_cast<unsigned long>(b.data) % alignof(float) == 0) done = multiply_row_across(g, b);
    }
#if defined(__AVX2__)
    else
        done = with_columns(b.kind, [&](auto columns) { return multiply_columns<typename decltype(columns)::Type>(g, b); });
#endif
    multiply_row_widened(g, b, done, g.n);
}

/// Whether columns of this kind can be multiplied without widening them first, which costs as much as packing.
bool is_read_in_place(NumberKind kind) {
#if defined(__AVX2__)
    return kind != NumberKind::F64;
#else
    return kind == NumberKind::F32;
#endif
}

bool multiply_rows_stored(const GemmArguments<float>& g, const StoredMatrix& b) {
    if (g.m > (is_read_in_place(b.kind) ? kFewStoredRows : 1) || g.k <= 0 || g.k % kWidth<float> != 0) return false;
    if (b.transpose == Transpose::No || g.transpose_a == Transpose::Yes) return false;
    for (std::int64_t row = 0; row < g.m; ++row) multiply_row_stored(row_of(g, row), b);
    return true;
}

#if defined(__AVX2__)
/// Rows that are multiplied while a panel is packed, and vectors of columns at a time: as many sums as leave registers for unpacking, and
/// still enough to hide each other's latency.
constexpr int kRowsWhilePacking = 4, kSetsWhilePacking = 2;

/// Packs B and computes the first rows of C, whose number is returned; 0 without doing anything if some panel is not whole.
template <class Columns>
std::int64_t multiply_and_pack(const GemmArguments<float>& g, const StoredMatrix& b, float* packed) {
    constexpr std::int64_t kColumns = Tile<float>::kColumns, kCount = kSetsWhilePacking * kWidth<float>;
    static_assert(kColumns % kCount == 0);
    if (g.m < kRowsWhilePacking || g.n % kColumns != 0 || g.k % Columns::kNumbers != 0) return 0;
    for (std::int64_t j = 0; j < g.n; j += kCount)
        multiply_after_loading<Columns, kSetsWhilePacking, kRowsWhilePacking, true>(g, b, j,
                                                                                    packed + (j - j % kColumns) * g.k + j % kColumns);
    return kRowsWhilePacking;
}
#endif

std::int64_t pack_and_multiply_stored(const GemmArguments<float>& g, const StoredMatrix& b, float* packed) {
    std::int64_t done = 0;
#if defined(__AVX2__)
    if (b.transpose == Transpose::Yes && g.transpose_a == Transpose::No)
        done = with_columns(b.kind, [&](auto columns) -> std::int64_t {
            using Columns = typename decltype(columns)::Type;
            if constexpr (Columns::kNumbers == 32) return 0;
            else return multiply_and_pack<Columns>(g, b, packed);
        });
#endif
    if (done == 0) pack_stored(b, g.k, g.n, packed);
    return done;
}

constexpr StoredKernels kStoredTable = {.widen = &widen,
                                        .pack = &pack_stored,
                                        .pack_and_multiply = &pack_and_multiply_stored,
                                        .multiply_rows = &multiply_rows_stored,
                                        .sum_of_words = &sum_of_words};
