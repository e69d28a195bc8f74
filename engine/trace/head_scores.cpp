#include "engine/trace/head_scores.hpp"

#include "engine/tensor/matrix.hpp"

namespace attn {
namespace {

/// Sums over the rows of one head; turned into means at the end.
struct Sums {
    double previous = 0, first = 0, same = 0, induction = 0, entropy = 0, distance = 0;
    std::int64_t rows = 0, later_rows = 0, induction_rows = 0;
};

/// The weights of one query over all keys.
using Row = Eigen::Array<double, 1, Eigen::Dynamic>;

void add_shape(const Row& w, std::int64_t query, Sums& sums) {
    const auto distance = (Row::LinSpaced(w.size(), 0, static_cast<double>(w.size() - 1)) - static_cast<double>(query)).abs();
    sums.entropy -= (w > 0).select(w * w.log(), 0).sum();
    sums.distance += (w * distance).sum();
    ++sums.rows;
}

void add_positions(const Row& w, std::int64_t query, Sums& sums) {
    if (query == 0) return;  // position 0 is its own first token and has no previous one
    ++sums.later_rows;
    sums.first += w[0];
    if (query - 1 < w.size()) sums.previous += w[query - 1];
    if (query < w.size()) sums.same += w[query];
}

void add_induction(const Row& w, std::int64_t query, const std::int32_t* ids, Sums& sums) {
    double followed = 0;
    bool any = false;
    for (std::int64_t s = 1; s < query; ++s)
        if (ids[s - 1] == ids[query]) {
            followed += w[s];
            any = true;
        }
    if (!any) return;
    sums.induction += followed;
    ++sums.induction_rows;
}

double mean(double sum, std::int64_t count) { return count > 0 ? sum / static_cast<double>(count) : 0; }

HeadScore score_head(const RecordedStage<float>& stage, const TokenBatch& tokens, std::int64_t head) {
    const Shape& shape = stage.value.shape();
    const std::int64_t heads = shape[1].size;
    Sums sums;
    for (std::int64_t b = 0; b < shape[0].size; ++b)
        for (std::int64_t t = 0; t < tokens.lengths[static_cast<std::size_t>(b)]; ++t) {
            if (stage.mask != nullptr && stage.mask->row_fully_masked(b, head, t)) continue;
            const Row row = matrix_of(stage.value, b * heads + head).row(t).cast<double>();
            add_shape(row, t, sums);
            if (is_cross(stage.id.stage)) continue;
            add_positions(row, t, sums);
            add_induction(row, t, tokens.ids.data() + b * tokens.length, sums);
        }
    HeadScore score;
    score.id = stage.id;
    score.head = head;
    score.previous_token = mean(sums.previous, sums.later_rows);
    score.first_token = mean(sums.first, sums.later_rows);
    score.same_token = mean(sums.same, sums.later_rows);
    score.induction = mean(sums.induction, sums.induction_rows);
    score.entropy = mean(sums.entropy, sums.rows);
    score.distance = mean(sums.distance, sums.rows);
    score.rows = sums.rows;
    score.induction_rows = sums.induction_rows;
    return score;
}

}  // namespace

std::vector<HeadScore> head_scores(const Trace<float>& trace) {
    std::vector<HeadScore> scores;
    for (const RecordedStage<float>& stage : trace.stages) {
        if (to_self(stage.id.stage) != Stage::Weights) continue;
        const TokenBatch& tokens = stage.id.stack == Stack::Encoder ? trace.source_tokens : trace.tokens;
        for (std::int64_t head = 0; head < stage.value.shape()[1].size; ++head) scores.push_back(score_head(stage, tokens, head));
    }
    return scores;
}

}  // namespace attn
