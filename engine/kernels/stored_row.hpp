// Part of every kernel build: the product of a single row with a matrix whose columns are contiguous. Included by build.hpp inside an
// unnamed namespace.

/// Sums of one vector of columns over steps [p, p + depth) of k, each in the order of k. Column i begins at first + i * row.
ATTN_INLINE Vec<float> sum_columns(const float* a, const float* first, std::int64_t row, std::int64_t p, std::int64_t depth) {
    constexpr int kW = kWidth<float>;
    Vec<float> sum{};
    for (std::int64_t q = p; q < p + depth; q += kW) {
        Vec<float> square[kW];
#pragma GCC unroll 16
        for (int i = 0; i < kW; ++i) square[i] = load(first + i * row + q);
        // Prefetches the columns of the next vector, which are too short for the hardware prefetcher: the number of cache lines read in
        // this step, not all at once.
        constexpr std::int64_t kShare = 16 / kW;
        for (std::int64_t i = q / kW % kShare; i < kW; i += kShare) __builtin_prefetch(first + (kW + i) * row + q);
        transpose_rounds<1, float>(square);
#pragma GCC unroll 16
        for (int i = 0; i < kW; ++i) sum = multiply_add(splat(a[q + i]), square[i], sum);
    }
    return sum;
}

/// Stores `sum`, which covers steps [p, p + depth) of k, to columns [j, j + columns) of C.
ATTN_INLINE void store_sums(const GemmArguments<float>& g, std::int64_t j, std::int64_t columns, std::int64_t p, std::int64_t depth,
                            Vec<float> sum) {
    float sums[kWidth<float>];
    store(sums, sum);
    store_row_sums(g, j, columns, p, depth, sums);
}

/// How many steps of k are summed before they are added to C, the same as in a tile.
ATTN_INLINE std::int64_t depth_at(const GemmArguments<float>& g, std::int64_t p) {
    return g.k - p < Tile<float>::kDepth ? g.k - p : Tile<float>::kDepth;
}

/// Computes a row of C up to end_column for a B of floats; k must be a multiple of the vector width. Returns end_column.
std::int64_t multiply_row_across(const GemmArguments<float>& g, const StoredMatrix& b, std::int64_t end_column) {
    const float* const numbers = reinterpret_cast<const float*>(b.data);
    const std::int64_t row = b.row_bytes / static_cast<std::int64_t>(sizeof(float));
    for (std::int64_t j = 0; j < end_column; j += kWidth<float>)
        for (std::int64_t p = 0; p < g.k; p += Tile<float>::kDepth)
            store_sums(g, j, kWidth<float>, p, depth_at(g, p), sum_columns(g.a, numbers + j * row, row, p, depth_at(g, p)));
    return end_column;
}

/// The same for any number kind. Columns are first widened in chunks that begin at a block boundary and end with a pass over k.
void multiply_row_widened(const GemmArguments<float>& g, const StoredMatrix& b, std::int64_t first_column, std::int64_t end_column) {
    constexpr std::int64_t kW = kWidth<float>, kDepth = Tile<float>::kDepth, kAtOnce = 2 * kDepth;
    static_assert(kAtOnce % kWidenedNumbers == 0);
    alignas(64) float rows[2 * kW * kAtOnce];  // the second half is prefetched but never read
    for (std::int64_t j = first_column; j < end_column; j += kW) {
        const std::int64_t columns = end_column - j < kW ? end_column - j : kW;
        for (std::int64_t q = 0; q < g.k; q += kAtOnce) {
            const std::int64_t numbers = g.k - q < kAtOnce ? g.k - q : kAtOnce;
            for (std::int64_t i = 0; i < columns; ++i)
                widen(b.kind, b.data + (j + i) * b.row_bytes + q / b.block_numbers * b.block_bytes, numbers, rows + i * kAtOnce);
            for (std::int64_t p = q; p < q + numbers; p += kDepth)
                store_sums(g, j, columns, p, depth_at(g, p), sum_columns(g.a, rows - q, kAtOnce, p, depth_at(g, p)));
        }
    }
}

#if defined(__AVX2__)
#include "engine/kernels/packed_columns.hpp"

/// The columns that come next; each is prefetched while its counterpart is being multiplied, a few at a time because a core has only so
/// many line-fill buffers.
template <int kColumns>
struct NextColumns {
    const Byte* at;
    std::int64_t row_bytes, part_bytes;  ///< bytes of a column, and of 32 of its numbers

    /// Prefetches an eighth of the columns.
    ATTN_INLINE void ask(int eighth) const {
#pragma GCC unroll 8
        for (int i = 0; i < kColumns / 8; ++i) __builtin_prefetch(at + (eighth * (kColumns / 8) + i) * row_bytes);
    }
};

/// Multiplies one part, 32 numbers, of every column in kSets vectors of columns.
template <class Columns, int kSets>
ATTN_INLINE void add_part(const float* a, int part, Columns (&columns)[kSets], NextColumns<kSets * kWidth<float>>& next,
                          Vec<float> (&sums)[kSets]) {
    for (int set = 0; set < kSets; ++set) columns[set].begin(part);
#pragma GCC unroll 8
    for (int fours = 0; fours < 8; ++fours) {
        Dwords quanta[kSets];
        for (int set = 0; set < kSets; ++set) quanta[set] = columns[set].four(part, fours);
        next.ask(fours);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i)
            for (int set = 0; set < kSets; ++set)
                sums[set] = multiply_add(splat(a[fours * 4 + i]), columns[set].value(quanta[set], part, fours, i), sums[set]);
    }
    next.at += next.part_bytes;
}

/// Columns first, first + step, first + 2 step, ... of the stored matrix, as many as are multiplied at once; the ones between them follow
/// in later turns.
struct EveryFewColumns {
    std::int64_t first, step;
    const Byte* next;  ///< start of the columns to prefetch
};

/// Columns that are read together are at least this far apart, if the matrix has enough of them: the hardware prefetcher follows one
/// ascending stream per page and is confused by two columns in the same page.
constexpr std::int64_t kBytesApart = 8192;
/// How many sums, over all passes over k, multiply_side_by_side() can hold.
constexpr std::int64_t kMostSums = 8192;

/// sums[i step] += products of column i, for kSets vectors of columns at a time, because a single sum would wait for its own latency. The
/// sums of consecutive passes over k are pass_sums apart.
template <class Columns, int kSets>
void sum_side_by_side(const GemmArguments<float>& g, const StoredMatrix& b, const EveryFewColumns& which, std::int64_t pass_sums,
                      float* sums) {
    constexpr std::int64_t kW = kWidth<float>;
    const std::int64_t row_bytes = which.step * b.row_bytes;
    Dwords offsets;
    for (int i = 0; i < kW; ++i) offsets[i] = i * static_cast<std::int32_t>(row_bytes);
    const Byte* const first = b.data + which.first * b.row_bytes;
    NextColumns<kSets * kW> next{which.next, row_bytes, 32 * b.block_bytes / b.block_numbers};
    for (std::int64_t p = 0; p < g.k; p += Tile<float>::kDepth, sums += pass_sums) {
        Vec<float> sum[kSets] = {};
        Columns columns[kSets];
        for (std::int64_t q = p; q < p + depth_at(g, p); q += Columns::kNumbers) {
            for (int set = 0; set < kSets; ++set) columns[set].load({first + set * kW * row_bytes, row_bytes, offsets}, q);
#pragma GCC unroll 4
            for (int part = 0; part < Columns::kNumbers / 32; ++part) add_part(g.a + q + 32 * part, part, columns, next, sum);
        }
        for (int set = 0; set < kSets; ++set)
            for (int i = 0; i < kW; ++i) sums[(set * kW + i) * which.step] = sum[set][i];
    }
}

/// Computes columns [j, j + kSets * width * step) of C.
template <class Columns, int kSets>
void multiply_side_by_side(const GemmArguments<float>& g, const StoredMatrix& b, std::int64_t j, std::int64_t step) {
    const std::int64_t columns = kSets * kWidth<float> * step;
    alignas(64) float sums[kMostSums];
    for (std::int64_t turn = 0; turn < step; ++turn) {
        const std::int64_t next = turn + 1 < step ? turn + 1 : columns;
        sum_side_by_side<Columns, kSets>(g, b, {j + turn, step, b.data + (j + next) * b.row_bytes}, columns, sums + turn);
    }
    const float* of_pass = sums;
    for (std::int64_t p = 0; p < g.k; p += Tile<float>::kDepth, of_pass += columns)
        store_row_sums(g, j, columns, p, depth_at(g, p), of_pass);
}

/// Vectors of columns at a time. Block-quantized kinds need two to hide latency. Half precision with AVX-512 is limited by memory instead,
/// which is read faster with fewer columns at once.
constexpr int kSetsOfPacked = 2, kSetsOfHalves = kVectorBytes == 64 ? 1 : 2;

/// Multiplies as many whole vectors of columns as it can and returns their number; 0 if k is not a multiple of kNumbers.
template <class Columns, int kSets = kSetsOfPacked>
std::int64_t multiply_columns(const GemmArguments<float>& g, const StoredMatrix& b, std::int64_t end_column) {
    constexpr std::int64_t kW = kWidth<float>, kMostRowBytes = std::int64_t{1} << 26;  // 16 of them still fit a 32-bit lane
    constexpr std::int64_t kDepth = Tile<float>::kDepth;
    static_assert(kDepth % Columns::kNumbers == 0);
    const std::int64_t most = kMostSums / (kSets * kW * ((g.k + kDepth - 1) / kDepth));
    if (g.k % Columns::kNumbers != 0 || b.row_bytes > kMostRowBytes || most < 1) return 0;
    const std::int64_t apart = (kBytesApart + b.row_bytes - 1) / b.row_bytes, wanted = apart < most ? apart : most;
    std::int64_t j = 0;
    while (j + kSets * kW <= end_column) {
        const std::int64_t left = (end_column - j) / (kSets * kW), step = left < wanted ? left : wanted;
        multiply_side_by_side<Columns, kSets>(g, b, j, step);
        j += kSets * kW * step;
    }
    for (; j + kW <= end_column; j += kW) multiply_side_by_side<Columns, 1>(g, b, j, 1);
    return j;
}
#endif

void multiply_row_stored(const GemmArguments<float>& g, const StoredMatrix& b) {
    const std::int64_t whole = g.n / kWidth<float> * kWidth<float>;
    std::int64_t done = 0;
    switch (b.kind) {
    case NumberKind::F32:
        if (reinterpret_cast<unsigned long>(b.data) % alignof(float) == 0) done = multiply_row_across(g, b, whole);
        break;
#if defined(__AVX2__)
    case NumberKind::F16:
        done = multiply_columns<ColumnsOfHalves, kSetsOfHalves>(g, b, whole);
        break;
    case NumberKind::BF16:
        done = multiply_columns<ColumnsOfUpperHalves, kSetsOfHalves>(g, b, whole);
        break;
    case NumberKind::Q8_0:
        done = multiply_columns<ColumnsOfBytes>(g, b, whole);
        break;
    case NumberKind::Q4_0:
        done = multiply_columns<ColumnsOfQ4_0>(g, b, whole);
        break;
    case NumberKind::Q4_1:
        done = multiply_columns<ColumnsOfQ4_1>(g, b, whole);
        break;
    case NumberKind::Q5_0:
        done = multiply_columns<ColumnsOfQ5_0>(g, b, whole);
        break;
    case NumberKind::Q5_1:
        done = multiply_columns<ColumnsOfQ5_1>(g, b, whole);
        break;
    case NumberKind::Q2_K:
        done = multiply_columns<ColumnsOfQ2_K>(g, b, whole);
        break;
    case NumberKind::Q3_K:
        done = multiply_columns<ColumnsOfQ3_K>(g, b, whole);
        break;
    case NumberKind::Q4_K:
        done = multiply_columns<ColumnsOfQ4_K>(g, b, whole);
        break;
    case NumberKind::Q5_K:
        done = multiply_columns<ColumnsOfQ5_K>(g, b, whole);
        break;
    case NumberKind::Q6_K:
        done = multiply_columns<ColumnsOfQ6_K>(g, b, whole);
        break;
#endif
    default:
        break;
    }
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

constexpr StoredKernels kStoredTable = {
    .widen = &widen, .pack = &pack_stored, .multiply_rows = &multiply_rows_stored, .sum_of_words = &sum_of_words};
