// Part of every kernel build: the product of a single row with a matrix whose columns are stored one after the other. Included by build.hpp
// inside an unnamed namespace.

/// A vector of one stored row, from its p-th number on; p is a multiple of the vector's width.
template <NumberKind kKind>
ATTN_INLINE Vec<float> load_stored(const Byte* row, std::int64_t p) {
    if constexpr (kKind == NumberKind::F32) return load(reinterpret_cast<const float*>(row) + p);
#if defined(__AVX512F__)
    if constexpr (kKind == NumberKind::F16) return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + 2 * p)));
    if constexpr (kKind == NumberKind::BF16) {
        const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + 2 * p)));
        return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
    }
#endif
}

/// The sums of a vector's columns over the steps [p, p + depth) of k, each in the order of k. Row i begins at first + i row_bytes.
template <NumberKind kKind>
ATTN_INLINE Vec<float> sum_columns(const float* a, const Byte* first, std::int64_t row_bytes, std::int64_t p, std::int64_t depth) {
    constexpr int kW = kWidth<float>;
    Vec<float> sum{};
    for (std::int64_t q = p; q < p + depth; q += kW) {
        Vec<float> square[kW];
#pragma GCC unroll 16
        for (int i = 0; i < kW; ++i) square[i] = load_stored<kKind>(first + i * row_bytes, q);
        // Of the rows further down, which are too short for the processor to foresee: as many lines as it takes on the way, not all at
        // once.
        constexpr std::int64_t kLine = 64, kBytes = kKind == NumberKind::F32 ? 4 : 2, kShare = kLine / (kW * kBytes);
        for (std::int64_t i = q / kW % kShare; i < kW; i += kShare) __builtin_prefetch(first + (kW + i) * row_bytes + q * kBytes);
        transpose_rounds<1, float>(square);
#pragma GCC unroll 16
        for (int i = 0; i < kW; ++i) sum = multiply_add(splat(a[q + i]), square[i], sum);
    }
    return sum;
}

/// Columns [j, j + columns) of C after the steps [p, p + depth) of k, whose sums these are.
ATTN_INLINE void store_sums(const GemmArguments<float>& g, std::int64_t j, std::int64_t columns, std::int64_t p, std::int64_t depth,
                            Vec<float> sum) {
    float sums[kWidth<float>];
    store(sums, sum);
    store_row_sums(g, j, columns, p, depth, sums);
}

/// Steps of k that are summed up before they are added to what is there, as a tile does it.
ATTN_INLINE std::int64_t depth_at(const GemmArguments<float>& g, std::int64_t p) {
    return g.k - p < Tile<float>::kDepth ? g.k - p : Tile<float>::kDepth;
}

/// A row of C whose columns of B can be read vector by vector; k is a multiple of a vector's width. Returns the last one's end.
template <NumberKind kKind>
std::int64_t multiply_row_across(const GemmArguments<float>& g, const StoredMatrix& b, std::int64_t end_column) {
    for (std::int64_t j = 0; j < end_column; j += kWidth<float>)
        for (std::int64_t p = 0; p < g.k; p += Tile<float>::kDepth)
            store_sums(g, j, kWidth<float>, p, depth_at(g, p),
                       sum_columns<kKind>(g.a, b.data + j * b.row_bytes, b.row_bytes, p, depth_at(g, p)));
    return end_column;
}

/// The same of any columns, which are widened first, so many numbers of them at a time that these begin with a block and end with a sum.
void multiply_row_widened(const GemmArguments<float>& g, const StoredMatrix& b, std::int64_t first_column, std::int64_t end_column) {
    constexpr std::int64_t kW = kWidth<float>, kDepth = Tile<float>::kDepth, kAtOnce = 2 * kDepth;
    static_assert(kAtOnce % kWidenedNumbers == 0);
    alignas(64) float rows[2 * kW * kAtOnce];  // the second half is asked for and never read
    for (std::int64_t j = first_column; j < end_column; j += kW) {
        const std::int64_t columns = end_column - j < kW ? end_column - j : kW;
        for (std::int64_t q = 0; q < g.k; q += kAtOnce) {
            const std::int64_t numbers = g.k - q < kAtOnce ? g.k - q : kAtOnce;
            for (std::int64_t i = 0; i < columns; ++i)
                widen(b.kind, b.data + (j + i) * b.row_bytes + q / b.block_numbers * b.block_bytes, numbers, rows + i * kAtOnce);
            for (std::int64_t p = q; p < q + numbers; p += kDepth) {
                const Byte* first = reinterpret_cast<const Byte*>(rows - q);
                store_sums(g, j, columns, p, depth_at(g, p),
                           sum_columns<NumberKind::F32>(g.a, first, kAtOnce * static_cast<std::int64_t>(sizeof(float)), p, depth_at(g, p)));
            }
        }
    }
}

#if defined(__AVX512F__)
#include "engine/kernels/packed_columns.hpp"

/// The same of columns in packed blocks, 16 kSets of them at a time: one sum would keep the processor waiting for the one before it.
template <class Columns, int kSets>
void multiply_packed_columns(const GemmArguments<float>& g, const StoredMatrix& b, std::int64_t j) {
    constexpr std::int64_t kW = kWidth<float>;
    for (std::int64_t p = 0; p < g.k; p += Tile<float>::kDepth) {
        const std::int64_t depth = depth_at(g, p);
        Vec<float> sums[kSets] = {};
        Columns columns[kSets];
        for (std::int64_t q = p; q < p + depth; q += Columns::kNumbers) {
            for (int set = 0; set < kSets; ++set)
                columns[set].load(b.data + (j + set * kW) * b.row_bytes, b.row_bytes, kSets * kW * b.row_bytes, q);
            for (int part = 0; part < Columns::kNumbers / 32; ++part) {
                for (Columns& one : columns) one.begin(part);
                const float* a = g.a + q + part * 32;
#pragma GCC unroll 8
                for (int fours = 0; fours < 8; ++fours) {
                    Dwords quanta[kSets];
                    for (int set = 0; set < kSets; ++set) quanta[set] = columns[set].four(fours);
#pragma GCC unroll 4
                    for (int i = 0; i < 4; ++i)
                        for (int set = 0; set < kSets; ++set)
                            sums[set] = multiply_add(splat(a[fours * 4 + i]), columns[set].value(quanta[set], fours, i), sums[set]);
                }
            }
        }
        for (int set = 0; set < kSets; ++set) store_sums(g, j + set * kW, kW, p, depth, sums[set]);
    }
}

/// How many of the columns were multiplied: whole sets, where k is one of whole parts of blocks.
template <class Columns>
std::int64_t multiply_packed(const GemmArguments<float>& g, const StoredMatrix& b, std::int64_t end_column) {
    constexpr std::int64_t kW = kWidth<float>;
    static_assert(Tile<float>::kDepth % Columns::kNumbers == 0);
    if (g.k % Columns::kNumbers != 0 || b.row_bytes > (1 << 26)) return 0;
    std::int64_t j = 0;
    for (; j + 2 * kW <= end_column; j += 2 * kW) multiply_packed_columns<Columns, 2>(g, b, j);
    for (; j + kW <= end_column; j += kW) multiply_packed_columns<Columns, 1>(g, b, j);
    return j;
}
#endif

void multiply_row_stored(const GemmArguments<float>& g, const StoredMatrix& b) {
    const std::int64_t whole = g.n / kWidth<float> * kWidth<float>;
    std::int64_t done = 0;
    switch (b.kind) {
    case NumberKind::F32:
        if (reinterpret_cast<unsigned long>(b.data) % alignof(float) == 0) done = multiply_row_across<NumberKind::F32>(g, b, whole);
        break;
#if defined(__AVX512F__)
    case NumberKind::F16:
        done = multiply_row_across<NumberKind::F16>(g, b, whole);
        break;
    case NumberKind::BF16:
        done = multiply_row_across<NumberKind::BF16>(g, b, whole);
        break;
    case NumberKind::Q8_0:
        done = multiply_packed<ColumnsOfBytes>(g, b, whole);
        break;
    case NumberKind::Q4_0:
        done = multiply_packed<ColumnsOfQ4_0>(g, b, whole);
        break;
    case NumberKind::Q4_1:
        done = multiply_packed<ColumnsOfQ4_1>(g, b, whole);
        break;
    case NumberKind::Q5_0:
        done = multiply_packed<ColumnsOfQ5_0>(g, b, whole);
        break;
    case NumberKind::Q5_1:
        done = multiply_packed<ColumnsOfQ5_1>(g, b, whole);
        break;
    case NumberKind::Q4_K:
        done = multiply_packed<ColumnsOfQ4_K>(g, b, whole);
        break;
    case NumberKind::Q5_K:
        done = multiply_packed<ColumnsOfQ5_K>(g, b, whole);
        break;
    case NumberKind::Q6_K:
        done = multiply_packed<ColumnsOfQ6_K>(g, b, whole);
        break;
#endif
    default:
        break;
    }
    multiply_row_widened(g, b, done, g.n);
}

/// Whether rows of B need not be widened first, which costs as much as packing them.
bool is_read_in_place(NumberKind kind) {
#if defined(__AVX512F__)
    return kind != NumberKind::F64 && kind != NumberKind::Q2_K && kind != NumberKind::Q3_K;
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

constexpr StoredKernels kStoredTable = {.widen = &widen, .pack = &pack_stored, .multiply_rows = &multiply_rows_stored};
