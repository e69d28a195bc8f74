#pragma once
/// Sums over rows, in an order that does not depend on the number of threads.

#include <algorithm>
#include <cstdint>

#include "engine/ops/parallel.hpp"
#include "engine/ops/scratch.hpp"

namespace attn {

/// Rows are summed in at most kSumRuns runs, however many threads there are, and the runs are then added in order. A run has at least
/// kRowsOfRun rows, because a shorter one would cost more than it saves.
inline constexpr std::int64_t kSumRuns = 16, kRowsOfRun = 64;

/// Calls f(first row, last row, partial sums [width], initially 0) for each run, then adds the partial sums to `sums` [width].
template <class Scalar, class F>
void sum_in_runs(std::int64_t rows, std::int64_t width, std::int64_t cost, Scalar* sums, const F& f) {
    const std::int64_t runs = std::clamp<std::int64_t>(rows / kRowsOfRun, 1, kSumRuns);
    Scalar* partial = scratch<Scalar, ScratchUse::ColumnSums>(runs * width);
    parallel_for(runs, 1 + rows * cost / runs, [&](std::int64_t run) {
        Scalar* mine = partial + run * width;
        std::fill(mine, mine + width, Scalar{0});
        f(run * rows / runs, (run + 1) * rows / runs, mine);
    });
    for (std::int64_t run = 0; run < runs; ++run)
        for (std::int64_t c = 0; c < width; ++c) sums[c] += partial[run * width + c];
}

/// sums += column sums of x
///   x [rows,width]  ->  sums [width]
template <class Scalar>
void add_column_sums(const Scalar* x, std::int64_t rows, std::int64_t width, Scalar* sums);

}  // namespace attn
