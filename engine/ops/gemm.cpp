#include "engine/ops/gemm.hpp"

#include <algorithm>
#include <type_traits>

#include "engine/kernels/stored_kernels.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/ops/scratch.hpp"

namespace attn {

template <class Scalar>
void gemm(const GemmArguments<Scalar>& arguments) {
    const Kernels<Scalar>& kernel = kernels<Scalar>();
    kernel.gemm(arguments, scratch<Scalar, ScratchUse::Gemm>(kernel.gemm_scratch));
}

namespace {

constexpr std::int64_t kFlopsPerOperation = 32;  // the unit in which parallel_ranges() takes costs

/// The longer side of C, along which a product is split over threads.
template <class Scalar>
struct Side {
    static constexpr std::int64_t kRowGrain = 12;  // like kPackedGrain, a multiple of the kernels' tile size
    bool rows;
    std::int64_t size, grain, cost;  // cost: of one row or column

    explicit Side(const GemmArguments<Scalar>& g)
        : rows(g.m >= g.n), size(rows ? g.m : g.n), grain(rows ? kRowGrain : kPackedGrain),
          cost(1 + (waits_for_memory(g) ? g.k : (rows ? g.n : g.m) * g.k / kFlopsPerOperation)) {}
    /// A product of few rows is bound by reading B, not by arithmetic.
    static bool waits_for_memory(const GemmArguments<Scalar>& g) { return g.m < g.n && g.m <= 8; }
    std::int64_t grains() const { return (size + grain - 1) / grain; }
};

template <class Scalar>
GemmArguments<Scalar> rows_of(const GemmArguments<Scalar>& g, std::int64_t first, std::int64_t last) {
    GemmArguments<Scalar> part = g;
    part.m = last - first;
    part.a += g.transpose_a == Transpose::Yes ? first : first * g.lda;
    part.c += first * g.ldc;
    if (g.plus != nullptr) part.plus += first * g.ldc;
    if (g.times != nullptr) part.times += first * g.ldc;
    return part;
}

template <class Scalar>
GemmArguments<Scalar> columns_of(const GemmArguments<Scalar>& g, std::int64_t first, std::int64_t last) {
    GemmArguments<Scalar> part = g;
    part.n = last - first;
    if (g.b != nullptr) part.b += g.transpose_b == Transpose::Yes ? first * g.ldb : first;
    part.c += first;
    if (g.bias != nullptr) part.bias += first;
    if (g.plus != nullptr) part.plus += first;
    if (g.times != nullptr) part.times += first;
    if (g.packed_b != nullptr) {
        part.packed_b += first * g.packed_k;
        part.packed_n -= first;
    }
    return part;
}

template <class Scalar>
void gemm_part(const GemmArguments<Scalar>& g, const Side<Scalar>& side, const Range& part) {
    gemm(side.rows ? rows_of(g, part.first, part.last) : columns_of(g, part.first, part.last));
}

}  // namespace

template <class Scalar>
void parallel_gemm(const GemmArguments<Scalar>& g) {
    const Side<Scalar> side(g);
    parallel_ranges(side.size, side.grain, side.cost, [&](std::int64_t first, std::int64_t last) { gemm_part(g, side, {first, last}); });
}

template <class Scalar>
void parallel_gemms(const GemmArguments<Scalar>& coarse, const GemmArguments<Scalar>& fine) {
    const Side<Scalar> wide(coarse), narrow(fine);
    const std::int64_t threads = thread_budget(), cost = wide.size * wide.cost + narrow.size * narrow.cost;
    if (threads == 1 || cost < 2 * threads * kPartCost) {
        parallel_gemm(fine);
        parallel_gemm(coarse);
        return;
    }
    const std::int64_t first_parts = std::min(wide.grains(), threads);
    const std::int64_t last_parts = std::min(narrow.grains(), threads * kMostPartsOfThread);
    parallel_for(first_parts + last_parts, cost, [&](std::int64_t i) {
        const std::int64_t j = i - first_parts;
        if (j < 0) gemm_part(coarse, wide, range_of_part(wide.size, wide.grain, i, first_parts));
        else gemm_part(fine, narrow, range_of_part(narrow.size, narrow.grain, j, last_parts));
    });
}

namespace {

/// How many columns of op(B) are converted together.
constexpr std::int64_t kConvertedColumns = 2 * kPackedGrain;
/// How many are read together where a few rows are multiplied with them as they are stored: a multiple of the columns that a kernel with
/// AVX-512 takes at a time.
constexpr std::int64_t kReadColumns = 4 * kPackedGrain;

/// The view as the kernels take it; data is null if the view does not begin at a block boundary.
StoredMatrix stored_matrix(const MatrixView& b) {
    const BlockSize block = block_size(b.kind);
    if (b.first % block.numbers != 0 || (b.stride % block.numbers != 0 && b.columns > 1)) return {};
    return {static_cast<const unsigned char*>(b.data) + stored_bytes(b.kind, b.first),
            b.kind,
            b.transposed ? Transpose::Yes : Transpose::No,
            stored_bytes(b.kind, b.stride),
            block.numbers,
            block.bytes};
}

/// Converts some columns of op(B) to Kernels::pack_b()'s layout. Returns how many rows of the product were computed meanwhile.
template <class Scalar>
std::int64_t pack_converted(const GemmArguments<Scalar>& g, const MatrixView& columns, Scalar* packed) {
    if constexpr (std::is_same_v<Scalar, float>) {
        const StoredMatrix stored = stored_matrix(columns);
        if (stored.data != nullptr) return stored_kernels().pack_and_multiply(g, stored, packed);
    }
    Scalar* numbers = scratch<Scalar, ScratchUse::Widened>(columns.rows * columns.columns);
    copy_numbers(columns, numbers);
    kernels<Scalar>().pack_b(numbers, columns.columns, Transpose::No, columns.rows, columns.columns, packed);
    return 0;
}

/// Multiplies a few rows, reading op(B) as it is stored. Returns false without doing anything if that is impossible or slower.
template <class Scalar>
bool multiplied_rows(const GemmArguments<Scalar>& g, const MatrixView& columns) {
    if constexpr (std::is_same_v<Scalar, float>) {
        const StoredMatrix stored = stored_matrix(columns);
        return stored.data != nullptr && stored_kernels().multiply_rows(g, stored);
    } else {
        return false;
    }
}

/// Columns [first, last) of a product whose B is stored in another number kind: converts them, then uses them at once.
template <class Scalar>
void converted_columns(const GemmArguments<Scalar>& g, const MatrixView& b, std::int64_t first, std::int64_t last) {
    GemmArguments<Scalar> here = columns_of(g, first, last);
    Scalar* packed = scratch<Scalar, ScratchUse::Converted>(kernels<Scalar>().packed_size(g.k, last - first));
    const std::int64_t done = pack_converted(here, b.columns_from(first, last - first), packed);
    here.packed_b = packed;
    here.packed_k = g.k;
    here.packed_n = last - first;
    gemm(rows_of(here, done, here.m));
}

/// Calls f(first, last) for ranges of n columns that are bound by reading their k numbers: small ones, so that no thread waits long for the
/// last, unless they would be too few to be shared evenly.
template <class F>
void read_ranges(std::int64_t n, std::int64_t k, const F& f) {
    constexpr std::int64_t kOfThread = 4;
    const std::int64_t parts = n / kReadColumns;
    if (parts < kOfThread * thread_budget()) return parallel_ranges(n, kPackedGrain, k, f);
    parallel_for(parts, kReadColumns * k, [&](std::int64_t part) {
        const Range range = range_of_part(n, kReadColumns, part, parts);
        f(range.first, range.last);
    });
}

/// A product whose B is stored in another number kind, a few columns at a time.
template <class Scalar>
void converting_gemm(const GemmArguments<Scalar>& g, const MatrixView& b) {
    if (g.m <= kFewStoredRows) {
        read_ranges(g.n, g.k, [&](std::int64_t first, std::int64_t last) {
            if (multiplied_rows(columns_of(g, first, last), b.columns_from(first, last - first))) return;
            for (std::int64_t i = first; i < last; i += kConvertedColumns)
                converted_columns(g, b, i, std::min(i + kConvertedColumns, last));
        });
        return;
    }
    const std::int64_t parts = (g.n + kConvertedColumns - 1) / kConvertedColumns;
    parallel_for(parts, kConvertedColumns * g.k * (1 + g.m / kFlopsPerOperation), [&](std::int64_t part) {
        const std::int64_t first = part * kConvertedColumns;
        converted_columns(g, b, first, std::min(first + kConvertedColumns, g.n));
    });
}

/// Whether gemm() can read B directly. A few rows times contiguous columns are left to StoredKernels::multiply_rows.
template <class Scalar>
bool is_readable(const GemmArguments<Scalar>& g, const MatrixView& b) {
    if (g.packed_b != nullptr) return true;
    const bool rows_across = std::is_same_v<Scalar, float> && g.m <= kFewStoredRows && b.transposed;
    return b.kind == kNumberKind<Scalar> && !rows_across;
}

template <class Scalar>
GemmArguments<Scalar> with_b(GemmArguments<Scalar> g, const MatrixView& b) {
    g.b = b.numbers<Scalar>();
    g.ldb = b.stride;
    g.transpose_b = b.transposed ? Transpose::Yes : Transpose::No;
    return g;
}

}  // namespace

template <class Scalar>
void parallel_gemm(const GemmArguments<Scalar>& g, const MatrixView& b) {
    if (is_readable(g, b)) parallel_gemm(with_b(g, b));
    else converting_gemm(g, b);
}

template <class Scalar>
void parallel_gemms(const GemmArguments<Scalar>& coarse, const GemmArguments<Scalar>& fine, const MatrixView& fine_b) {
    if (is_readable(fine, fine_b)) return parallel_gemms(coarse, with_b(fine, fine_b));
    converting_gemm(fine, fine_b);
    parallel_gemm(coarse);
}

template void gemm<float>(const GemmArguments<float>&);
template void gemm<double>(const GemmArguments<double>&);
template void parallel_gemm<float>(const GemmArguments<float>&);
template void parallel_gemm<double>(const GemmArguments<double>&);
template void parallel_gemms<float>(const GemmArguments<float>&, const GemmArguments<float>&);
template void parallel_gemms<double>(const GemmArguments<double>&, const GemmArguments<double>&);
template void parallel_gemm<float>(const GemmArguments<float>&, const MatrixView&);
template void parallel_gemm<double>(const GemmArguments<double>&, const MatrixView&);
template void parallel_gemms<float>(const GemmArguments<float>&, const GemmArguments<float>&, const MatrixView&);
template void parallel_gemms<double>(const GemmArguments<double>&, const GemmArguments<double>&, const MatrixView&);

}  // namespace attn
