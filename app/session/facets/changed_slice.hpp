#pragma once
/// A slice of a stage as a view changes it before drawing: rescaled, weighted, summed, or with another slice subtracted.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "app/session/facets/statistics.hpp"
#include "engine/plan/stage.hpp"
#include "engine/trace/attention_totals.hpp"

namespace attn::app {

struct ChangedSlice {
    std::vector<float> values;       ///< [rows, cols]
    std::vector<std::uint8_t> keep;  ///< likewise, 0 = masked; empty if nothing is masked
    TensorStatistics statistics;
    NumberGrid grid(std::int64_t cols) const {
        return {values.data(), static_cast<std::int64_t>(values.size()) / cols, cols, cols, keep.empty() ? nullptr : keep.data()};
    }
};

/// Whether a stage consists of weights or probabilities, whose masked numbers are exactly 0.
inline bool has_probabilities(Stage stage) { return is_probability(stage) || stage == Stage::Dropped; }

/// Weights with the first key masked and the rest of each row divided by its sum. Rows without other weights become 0.
ChangedSlice slice_without_first_key(const NumberGrid& weights);
/// Weights multiplied by the norm of what each of them moves, one per column.
ChangedSlice norm_weighted_slice(const NumberGrid& weights, const float* norms);
/// The norms of a head in value_norms(), [B,H,S].
const float* norms_of_head(const Tensor<float>& norms, std::int64_t sequence, std::int64_t head);
/// now - before, cell by cell; the grids have equal shapes. Where only one of them is masked, its value counts as 0 in probabilities, and
/// the result is masked otherwise.
ChangedSlice slice_difference(const NumberGrid& now, const NumberGrid& before, bool probabilities);
/// The sum of each row over its unmasked cells, [rows, 1], added up in double.
ChangedSlice slice_row_sums(const NumberGrid& grid);
/// One sequence of the attention accumulated over the layers 0 to `layer`.
struct TotalsMap {
    const Trace<float>& trace;
    const AttentionTotals& totals;
    bool rollout;  ///< else the mean
    std::size_t layer;
    std::int64_t sequence;
};
/// Its numbers [T,T] with the mask of the last layer's weights, if that is known. A masked cell that is not 0 counts all the same:
/// the diagonal of a rollout, or what an earlier layer attends to. Throws Error if there is no such layer or sequence.
ChangedSlice slice_of_totals(const TotalsMap& map);

}  // namespace attn::app
