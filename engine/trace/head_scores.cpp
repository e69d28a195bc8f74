#include "engine/trace/head_scores.hpp"

#include <cmath>
#include <cstdlib>

namespace attn {
namespace {

/// Sums over the rows of one head; turned into means at the end.
struct Sums {
    double previous = 0, first = 0, same = 0, induction = 0, entropy = 0, distance = 0;
    std::int64_t rows = 0, later_rows = 0, induction_rows = 0;
};

struct Row {
    const float* weights;
    std::int64_t query;
    std::int64_t keys;
};

bool fully_masked(const Row& row, const Mask* mask, std::int64_t b, std::int64_t h) {
    return mask != nullptr && mask->row_fully_masked(b, h, row.query);
}

void add_shape(const Row& row, Sums& sums) {
    for (std::int64_t s = 0; s < row.keys; ++s) {
        const double w = row.weights[s];
        if (w > 0) sums.entropy -= w * std::log(w);
        sums.distance += w * static_cast<double>(std::llabs(row.query - s));
    }
    ++sums.rows;
}

void add_positions(const Row& row, Sums& sums) {
    if (row.query == 0) return;  // position 0 is its own first token and has no previous one
    ++sums.later_rows;
    sums.first += row.weights[0];
    if (row.query - 1 < row.keys) sums.previous += row.weights[row.query - 1];
    if (row.query < row.keys) sums.same += row.weights[row.query];
}

void add_induction(const Row& row, const std::int32_t* ids, Sums& sums) {
    double followed = 0;
    bool any = false;
    for (std::int64_t s = 1; s < row.query; ++s)
        if (ids[s - 1] == ids[row.query]) {
            followed += row.weights[s];
            any = true;
        }
    if (!any) return;
    sums.induction += followed;
    ++sums.induction_rows;
}

double mean(double sum, std::int64_t count) { return count > 0 ? sum / static_cast<double>(count) : 0; }

HeadScore score_head(const RecordedStage<float>& stage, const TokenBatch& tokens, std::int64_t head) {
    const Shape& shape = stage.value.shape();
    const std::int64_t heads = shape[1].size, queries = shape[2].size, keys = shape[3].size;
    Sums sums;
    for (std::int64_t b = 0; b < shape[0].size; ++b)
        for (std::int64_t t = 0; t < tokens.lengths[static_cast<std::size_t>(b)]; ++t) {
            const Row row{stage.value.data() + ((b * heads + head) * queries + t) * keys, t, keys};
            if (fully_masked(row, stage.mask.get(), b, head)) continue;
            add_shape(row, sums);
            if (is_cross(stage.id.stage)) continue;
            add_positions(row, sums);
            add_induction(row, tokens.ids.data() + b * tokens.length, sums);
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
