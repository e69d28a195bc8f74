#pragma once
/// What kind of attention each head pays, as a few numbers per head.

#include <cstdint>
#include <vector>

#include "engine/trace/trace.hpp"

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
    double entropy = 0;               ///< mean of -sum w ln w over the row, in nats; 0 ln 0 = 0
    double distance = 0;              ///< mean of sum w |t - s|, in positions
    double alignment = 0;             ///< cross-attention: mean of the row's largest weight, 1 if each query attends to a single key
    std::int64_t rows = 0;            ///< rows averaged; 0: no row to score
    std::int64_t induction_rows = 0;  ///< rows whose token occurred before
};

/// The scores of one stage whose rows are given a few at a time.
class HeadScoreSums {
public:
    /// Sums over one head's rows.
    struct Sums {
        double previous = 0, first = 0, same = 0, induction = 0, entropy = 0, distance = 0, largest = 0;
        std::int64_t rows = 0, later_rows = 0, induction_rows = 0;
    };
    /// `tokens` are the queries' and must outlive this.
    HeadScoreSums(const StageId& id, const TokenBatch& tokens) : id_(id), tokens_(tokens) {}
    /// Weights [B,H,rows,S] of the positions from `first` on, and their mask (null: nothing is masked). Call in order of positions.
    void add(const Tensor<float>& rows, const Mask* mask, std::int64_t first);
    /// The scores of every head.
    std::vector<HeadScore> scores() const;

private:
    StageId id_;
    const TokenBatch& tokens_;
    std::vector<Sums> sums_;
};

/// Scores of every head in every recorded weights stage, in the order of the trace. Cross-attention has keys from another text, so only
/// entropy, distance and alignment are computed; the others stay 0.
std::vector<HeadScore> head_scores(const Trace<float>& trace);

}  // namespace attn
