// Part of every kernel build: copies operands of the matrix product into the order in which tiles read them. Included by build.hpp inside
// an unnamed namespace.

/// One exchange of a transposition: lanes of `a` with bit kStep set are swapped with the lanes of `b` without it.
template <int kStep, class Scalar, int... kLane>
ATTN_INLINE void exchange_halves(Vec<Scalar>& a, Vec<Scalar>& b, Numbers<kLane...>) {
    constexpr int kW = kWidth<Scalar>;
    const Vec<Scalar> low = __builtin_shufflevector(a, b, ((kLane & kStep) == 0 ? kLane : kW + kLane - kStep)...);
    b = __builtin_shufflevector(a, b, ((kLane & kStep) == 0 ? kLane + kStep : kW + kLane)...);
    a = low;
}

/// Transposes a square of vectors in log2(width) rounds, each exchanging lanes between rows whose numbers differ in one bit.
template <int kStep = 1>
ATTN_INLINE void transpose(Vec<double> (&r)[kWidth<double>]) {
    if constexpr (kStep < kWidth<double>) {
#pragma GCC unroll 16
        for (int i = 0; i < kWidth<double>; ++i)
            if ((i & kStep) == 0) exchange_halves<kStep, double>(r[i], r[i | kStep], LaneNumbers<double>{});
        transpose<2 * kStep>(r);
    }
}

/// Four floats, within which processors interleave numbers without a list of their positions.
constexpr int kQuad = 4, kQuads = kWidth<float> / kQuad;

/// Interleaves the first (kHalf 0) or second halves of the quads of a and b, kTogether numbers at a time.
template <int kTogether, int kHalf, int... kLane>
ATTN_INLINE Vec<float> interleaved_quads(Vec<float> a, Vec<float> b, Numbers<kLane...>) {
    constexpr int kW = kWidth<float>;
    return __builtin_shufflevector(a, b,
                                   (kLane / kTogether % 2 * kW + kLane / kQuad * kQuad + kHalf * kQuad / 2 +
                                    kLane % kQuad / (2 * kTogether) * kTogether + kLane % kTogether)...);
}

/// Every second quad of a, then of b, beginning with the first (kOdd 0) or the second.
template <int kOdd, int... kLane>
ATTN_INLINE Vec<float> every_second_quad(Vec<float> a, Vec<float> b, Numbers<kLane...>) {
    constexpr int kW = kWidth<float>;
    return __builtin_shufflevector(a, b,
                                   (2 * kLane / kW * kW + (kLane / kQuad % ((kQuads + 1) / 2) * 2 + kOdd) * kQuad + kLane % kQuad)...);
}

/// Transposes squares of 4 by 4 numbers within the quads of four rows.
ATTN_INLINE void transpose_within_quads(Vec<float>* r) {
    constexpr LaneNumbers<float> kAll;
    const Vec<float> ab[2] = {interleaved_quads<1, 0>(r[0], r[1], kAll), interleaved_quads<1, 1>(r[0], r[1], kAll)};
    const Vec<float> cd[2] = {interleaved_quads<1, 0>(r[2], r[3], kAll), interleaved_quads<1, 1>(r[2], r[3], kAll)};
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
        r[2 * half] = interleaved_quads<2, 0>(ab[half], cd[half], kAll);
        r[2 * half + 1] = interleaved_quads<2, 1>(ab[half], cd[half], kAll);
    }
}

/// Transposes the quads of the rows i, i + 4, i + 8, ... as if each were one number.
ATTN_INLINE void transpose_quads(Vec<float> (&r)[kWidth<float>], int i) {
    constexpr LaneNumbers<float> kAll;
    if constexpr (kQuads == 2) {
        const Vec<float> first = every_second_quad<0>(r[i], r[i + 4], kAll);
        r[i + 4] = every_second_quad<1>(r[i], r[i + 4], kAll);
        r[i] = first;
    } else if constexpr (kQuads == 4) {
        const Vec<float> ab[2] = {every_second_quad<0>(r[i], r[i + 4], kAll), every_second_quad<1>(r[i], r[i + 4], kAll)};
        const Vec<float> cd[2] = {every_second_quad<0>(r[i + 8], r[i + 12], kAll), every_second_quad<1>(r[i + 8], r[i + 12], kAll)};
#pragma GCC unroll 2
        for (int odd = 0; odd < 2; ++odd) {
            r[i + 4 * odd] = every_second_quad<0>(ab[odd], cd[odd], kAll);
            r[i + 4 * odd + 8] = every_second_quad<1>(ab[odd], cd[odd], kAll);
        }
    }
}

/// Transposes a square of vectors.
ATTN_INLINE void transpose(Vec<float> (&r)[kWidth<float>]) {
#pragma GCC unroll 16
    for (int i = 0; i < kWidth<float>; i += kQuad) transpose_within_quads(r + i);
#pragma GCC unroll 4
    for (int i = 0; i < kQuad; ++i) transpose_quads(r, i);
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
            transpose(square);
            Scalar* to = out + p * out_step + first;
#pragma GCC unroll 16
            for (int i = 0; i < kW; ++i, to += out_step)
                if (i < deep) {
                    if (wide >= kW) store(to, square[i]);
                    else store_part(to, square[i], wide);
                }
        }
}

/// out[p * width + j] = in[p * in_step + j] for j < columns; the rest of each output row becomes 0.
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

/// How many rows ahead of the one being packed to prefetch: the rows of a matrix are too far apart for the hardware prefetcher.
constexpr std::int64_t kRowsAhead = 8;

/// Vector kVector of the first kRows numbers of consecutive rows laid end to end. Its lanes come from `row` (row kVector) and `next`.
template <int kVector, class Scalar, int... kLane>
ATTN_INLINE Vec<Scalar> joined(Vec<Scalar> row, Vec<Scalar> next, Numbers<kLane...>) {
    constexpr int kW = kWidth<Scalar>, kRows = Tile<Scalar>::kRows, kFirst = kVector * kW;
    return __builtin_shufflevector(row, next,
                                   ((kFirst + kLane) / kRows == kVector ? (kFirst + kLane) % kRows : kW + (kFirst + kLane) % kRows)...);
}

/// How many rows join_rows() joins: their first kRows numbers fill three whole vectors (six if a vector holds only two numbers).
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

/// Packs a matrix [depth,columns] as blocks of kRows columns, each [depth,kRows]; the last is padded with 0.
template <class Scalar>
void pack_columns(const Scalar* in, std::int64_t in_step, std::int64_t columns, std::int64_t depth, Scalar* out) {
    constexpr std::int64_t kRows = Tile<Scalar>::kRows, kLine = 64 / sizeof(Scalar), kGroup = kRowGroup<Scalar>;
    const std::int64_t whole = columns / kRows * kRows;
    // Row by row, the order in which memory is read fastest.
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

/// Width of a packed panel's rows: `columns` rounded up to whole vectors.
template <class Scalar>
ATTN_INLINE std::int64_t width_of(std::int64_t columns) {
    return (columns + kWidth<Scalar> - 1) / kWidth<Scalar> * kWidth<Scalar>;
}

/// Packs the last panel, which is narrower than the others, unless its width is a multiple of `in_place`.
template <class Scalar>
void pack_last_panel(const Scalar* b, std::int64_t ldb, std::int64_t columns, std::int64_t depth, Scalar* out, std::int64_t in_place) {
    const std::int64_t whole = columns / Tile<Scalar>::kColumns * Tile<Scalar>::kColumns, rest = columns - whole;
    if (rest % in_place != 0) pack_rows(b + whole, ldb, rest, width_of<Scalar>(rest), depth, out + whole * depth);
}

/// Packs a matrix [depth,columns] as panels, each [depth,width].
template <class Scalar>
void pack_panels(const Scalar* b, std::int64_t ldb, std::int64_t columns, std::int64_t depth, Scalar* out) {
    using T = Tile<Scalar>;
    const std::int64_t whole = columns / T::kColumns * T::kColumns;
    // A few rows of each panel in turn, the order in which memory is read fastest. Prefetches into the L2 cache, because the L1 cache can
    // have only a few requests in flight.
    for (std::int64_t first = 0; first < depth; first += kRowsAhead) {
        const std::int64_t end = depth - first < kRowsAhead ? depth : first + kRowsAhead;
        for (std::int64_t j = 0; j < whole; j += T::kColumns)
            for (std::int64_t row = first; row < end; ++row)
#pragma GCC unroll 4
                for (int v = 0; v < T::kVectors; ++v) {
                    const std::int64_t lane = v * kWidth<Scalar>;
                    __builtin_prefetch(b + (row + kRowsAhead) * ldb + j + lane, 0, 2);
                    store(out + j * depth + row * T::kColumns + lane, load(b + row * ldb + j + lane));
                }
    }
    pack_last_panel(b, ldb, columns, depth, out, T::kColumns);
}

/// The same for a matrix stored as [columns,depth].
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
