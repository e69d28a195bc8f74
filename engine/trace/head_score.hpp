#pragma once
/// What kind of attention a head pays, as a few numbers; plain data.

#include <algorithm>
#include <cstdint>
#include <span>
#include <tuple>

#include "engine/plan/stage.hpp"

namespace attn {

/// Averages over the query rows of all sequences, except padding and fully masked rows. All but entropy and distance are in [0, 1].
struct HeadScore {
    StageId id;  ///< the weights or cross_weights stage
    std::int64_t head = 0;
    double previous_token = 0;  ///< mean weight on key t - 1, over rows t >= 1
    double first_token = 0;     ///< mean weight on key 0, over rows t >= 1
    double same_token = 0;      ///< mean weight on the query's own position, over rows t >= 1
    /// Mean weight on positions that follow an earlier occurrence of the query's token, over rows that have one:
    /// the induction pattern of Olsson et al., "In-context Learning and Induction Heads" (2022).
    double induction = 0;
    double entropy = 0;   ///< mean of -sum w ln w over the row, in nats; 0 ln 0 = 0
    double distance = 0;  ///< mean of sum w |t - s|, in positions
    /// Cross-attention: the sum, over the keys that some query attends to most, of the largest such weight, divided by the number of
    /// queries or keys, whichever is smaller. 1 if each query attends to a key of its own; close to 0 if all attend to the same key.
    double alignment = 0;
    std::int64_t rows = 0;            ///< rows averaged; 0: no row to score
    std::int64_t induction_rows = 0;  ///< rows whose token occurred before
};

/// The scores of one attention's heads among those of a model, which are in the order of its plan; empty if they are not there.
inline std::span<const HeadScore> scores_of(std::span<const HeadScore> scores, const StageId& weights) {
    const auto before = [](const StageId& a, const StageId& b) {
        return std::tie(a.stack, a.layer, a.attention) < std::tie(b.stack, b.layer, b.attention);
    };
    const auto first =
        std::partition_point(scores.begin(), scores.end(), [&](const HeadScore& score) { return before(score.id, weights); });
    if (first == scores.end() || first->id != weights) return {};
    const auto last = std::partition_point(first, scores.end(), [&](const HeadScore& score) { return !before(weights, score.id); });
    return {first, last};
}

}  // namespace attn
