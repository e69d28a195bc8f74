#pragma once
/// A slice of a stage as a view changes it before drawing: rescaled, weighted, summed, or with another slice subtracted.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "app/session/values/facet.hpp"
#include "app/session/values/map_region.hpp"
#include "app/session/values/part_looked_at.hpp"
#include "app/session/values/statistics.hpp"
#include "engine/plan/stage.hpp"
#include "engine/trace/attention_totals.hpp"

namespace attn::app {

struct ChangedSlice {
    std::vector<float> values;       ///< [rows, cols]
    std::vector<std::uint8_t> keep;  ///< likewise, 0 = masked; empty if nothing is masked
    TensorStatistics statistics;
    double mib() const { return static_cast<double>(values.size() * sizeof(float) + keep.size()) / (1024.0 * 1024.0); }
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

namespace facet {

/// A slice of a stage, transformed before it is drawn, or the sums of its rows; for stages held in full (see MapRegion for the others).
struct ChangedSlice {
    using Value = app::ChangedSlice;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};  // kept by the desk that draws it
    StageId stage;
    std::int64_t sequence = 0;
    std::int64_t head = 0;         ///< as stored, so that a key/value head counts once; negative: the mean over all heads
    std::optional<Inside> part{};  ///< the part that holds the stage; none: the whole trace
    MapChange change{};            ///< `minus_head`: negative for the mean; none: `head`
    std::int64_t minus_sequence = 0;
    std::optional<Inside> minus_part{};
    bool row_sums = false;  ///< the sums of the rows instead, [rows, 1]; without `change`
    /// The slice that is subtracted.
    ChangedSlice subtracted() const {
        return {.stage = change.minus_stage, .sequence = minus_sequence, .head = change.minus_head.value_or(head), .part = minus_part};
    }
    /// The sums are numbers beside the picture, which can come later.
    bool comes_by_itself() const { return row_sums; }
    ChangedSlice moved(const StateRef& from, const StateRef& to) const {
        ChangedSlice moved = *this;
        moved.change.move(from, to);
        return moved;
    }
    static Job<Value> make(const ChangedSlice&, Ask& ask);
    bool operator==(const ChangedSlice&) const = default;
};

}  // namespace facet

}  // namespace attn::app
