#pragma once
/// A slice of a stage as a view changes it before drawing: rescaled, weighted, or with another slice subtracted.

#include <cstdint>
#include <vector>

#include "app/session/facets/statistics.hpp"
#include "engine/plan/stage.hpp"

namespace attn::app {

struct ChangedSlice {
    std::vector<float> values;       ///< [rows, cols]
    std::vector<std::uint8_t> keep;  ///< likewise, 0 = masked; empty if nothing is masked
    TensorStatistics statistics;
};

/// Whether a stage consists of weights or probabilities, whose masked numbers are exactly 0.
inline bool has_probabilities(Stage stage) { return is_probability(stage) || to_self(stage) == Stage::Dropped; }

/// Weights with the first key masked and the rest of each row divided by its sum. Rows without other weights become 0.
ChangedSlice slice_without_first_key(const NumberGrid& weights);
/// Weights multiplied by the norm of what each of them moves, one per column.
ChangedSlice slice_times_moved(const NumberGrid& weights, const float* norms);
/// The norms of a head in moved_norms(), [B,H,S].
const float* norms_of_head(const Tensor<float>& norms, std::int64_t sequence, std::int64_t head);
/// now - before, cell by cell; the grids have equal shapes. Where only one of them is masked, its value counts as 0 in probabilities, and
/// the result is masked otherwise.
ChangedSlice slice_difference(const NumberGrid& now, const NumberGrid& before, bool probabilities);

}  // namespace attn::app
