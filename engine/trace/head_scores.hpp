#pragma once
/// Finds out what kind of attention each head pays.

#include <cstdint>
#include <vector>

#include "engine/trace/head_score.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// The scores of one stage whose rows are given a few at a time.
class HeadScoreSums {
public:
    /// What the queries of one sequence attend to most in another text.
    struct Alignment {
        std::int64_t queries = 0, keys = 0;  ///< unmasked ones
        std::vector<double> strongest;       ///< of each key: the largest weight of a query that attends to no key more
    };
    /// Sums over one head's rows.
    struct Sums {
        double previous = 0, first = 0, same = 0, induction = 0, entropy = 0, distance = 0;
        std::int64_t rows = 0, later_rows = 0, induction_rows = 0;
        std::vector<Alignment> alignments;  ///< cross-attention, by sequence
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
