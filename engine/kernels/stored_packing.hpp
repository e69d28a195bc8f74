// Part of every kernel build: packs matrices as files store them into the panels of the matrix product. Included by build.hpp inside an
// unnamed namespace.

#if defined(__AVX2__)
#include "engine/kernels/packed_columns.hpp"
#endif

/// How many numbers of each column are widened before they are transposed, so that they stay in the L1 cache.
constexpr std::int64_t kWidenedNumbers = 256;

/// Packs columns [first, here) of the panel that begins with column j of a B whose columns are contiguous.
void pack_columns_widened(const StoredMatrix& b, std::int64_t k, std::int64_t j, std::int64_t first, std::int64_t here, float* panel) {
    constexpr std::int64_t kW = kWidth<float>;
    const std::int64_t width = width_of<float>(here);
    alignas(64) float rows[kW * kWidenedNumbers];
    for (std::int64_t i = first; i < width; i += kW) {
        const std::int64_t count = here - i < kW ? here - i : kW;
        for (std::int64_t p = 0; p < k; p += kWidenedNumbers) {
            const std::int64_t depth = k - p < kWidenedNumbers ? k - p : kWidenedNumbers;
            for (std::int64_t r = 0; r < count; ++r)
                widen(b.kind, b.data + (j + i + r) * b.row_bytes + p * b.block_bytes / b.block_numbers, depth, rows + r * kWidenedNumbers);
            pack_transposed(rows, kWidenedNumbers, count, kW, depth, panel + p * width + i, width);
        }
    }
}

#if defined(__AVX2__)
/// What follows byte `at` of the column that begins at `first`, some way ahead: so many columns at once are too much for the hardware
/// prefetcher. Behind the end of a column come the first bytes of the one that is `columns` further on.
ATTN_INLINE const Byte* ahead_of(const Byte* first, std::int64_t row_bytes, std::int64_t at, std::int64_t columns) {
    constexpr std::int64_t kAhead = 256;
    return first + at + kAhead + (at + kAhead < row_bytes ? 0 : (columns - 1) * row_bytes);
}

/// Prefetches as much of a column as is unpacked together.
template <class Columns>
ATTN_INLINE void prefetch_column(const Byte* column) {
    constexpr std::int64_t kBytes = Columns::kNumbers * Columns::kBlock.bytes / Columns::kBlock.numbers;
#pragma GCC unroll 8
    for (std::int64_t line = 0; line < kBytes; line += 64) __builtin_prefetch(column + line);
}

/// Packs as many vectors of the panel's columns as are whole and returns their number of columns; 0 if k is not a multiple of kNumbers.
template <class Columns>
std::int64_t pack_columns_unpacked(const StoredMatrix& b, std::int64_t k, std::int64_t j, std::int64_t here, float* panel) {
    constexpr std::int64_t kW = kWidth<float>, kNumbers = Columns::kNumbers;
    if (k % kNumbers != 0) return 0;
    const std::int64_t width = width_of<float>(here), whole = here / kW * kW;
    const RowBytes rows(b.row_bytes);
    const Byte* block = b.data + j * b.row_bytes;
    for (std::int64_t p = 0; p < k; p += kNumbers)
        for (std::int64_t i = 0; i < whole; i += kW) {
            const Byte* ahead = ahead_of(block + i * b.row_bytes, b.row_bytes, p * Columns::kBlock.bytes / Columns::kBlock.numbers, here);
            for (int lane = 0; lane < kW; ++lane, ahead += b.row_bytes) prefetch_column<Columns>(ahead);
            Columns columns;
#pragma GCC unroll 16
            for (int piece = 0; piece < Columns::kPieces; ++piece)
                columns.load({block + i * b.row_bytes + p / Columns::kBlock.numbers * Columns::kBlock.bytes, rows}, p, piece);
            float* to = panel + p * width + i;
#pragma GCC unroll 4
            for (int part = 0; part < kNumbers / 32; ++part) {
                columns.begin(part);
#pragma GCC unroll 8
                for (int fours = 0; fours < 8; ++fours)
#pragma GCC unroll 4
                    for (int number = 0; number < 4; ++number, to += width) store(to, columns.value(part, fours, number));
            }
        }
    return whole;
}
#endif

/// Packs a B whose columns are contiguous (stored as [n,k]) into panels, each [k,width].
void pack_columns_stored(const StoredMatrix& b, std::int64_t k, std::int64_t n, float* packed) {
    using T = Tile<float>;
    for (std::int64_t j = 0; j < n; j += T::kColumns) {
        const std::int64_t here = n - j < T::kColumns ? n - j : T::kColumns;
        std::int64_t done = 0;
#if defined(__AVX2__)
        done = with_columns(
            b.kind, [&](auto columns) { return pack_columns_unpacked<typename decltype(columns)::Type>(b, k, j, here, packed + j * k); });
#endif
        pack_columns_widened(b, k, j, done, here, packed + j * k);
    }
}

/// The same for a B whose rows are contiguous (stored as [k,n]).
void pack_rows_stored(const StoredMatrix& b, std::int64_t k, std::int64_t n, float* packed) {
    using T = Tile<float>;
    alignas(64) float row[kWidenedNumbers];
    static_assert(kWidenedNumbers % T::kColumns == 0);
    for (std::int64_t p = 0; p < k; ++p)
        for (std::int64_t j = 0; j < n; j += kWidenedNumbers) {
            const std::int64_t here = n - j < kWidenedNumbers ? n - j : kWidenedNumbers;
            widen(b.kind, b.data + p * b.row_bytes + j * b.block_bytes / b.block_numbers, here, row);
            for (std::int64_t i = 0; i < here; i += T::kColumns) {
                const std::int64_t columns = here - i < T::kColumns ? here - i : T::kColumns, width = width_of<float>(columns);
                pack_rows(row + i, 0, columns, width, 1, packed + (j + i) * k + p * width);
            }
        }
}

void pack_stored(const StoredMatrix& b, std::int64_t k, std::int64_t n, float* packed) {
    if (b.transpose == Transpose::Yes) pack_columns_stored(b, k, n, packed);
    else pack_rows_stored(b, k, n, packed);
}
