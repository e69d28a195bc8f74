#include "engine/trace/head_scores.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "engine/tensor/matrix.hpp"

namespace attn {
namespace {

/// One query's weights on all keys.
using Row = Eigen::Array<double, 1, Eigen::Dynamic>;

using Sums = HeadScoreSums::Sums;

void add_shape(const Row& w, std::int64_t query, Sums& sums) {
    const auto distance = (Row::LinSpaced(w.size(), 0, static_cast<double>(w.size() - 1)) - static_cast<double>(query)).abs();
    sums.entropy -= (w > 0).select(w * w.log(), 0).sum();
    sums.distance += (w * distance).sum();
    ++sums.rows;
}

void add_positions(const Row& w, std::int64_t query, Sums& sums) {
    if (query == 0) return;  // position 0 is itself the first token and has no previous one
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

/// `keep`: 1 for each unmasked key; null if all are.
void add_alignment(const Row& w, const std::uint8_t* keep, HeadScoreSums::Alignment& alignment) {
    alignment.strongest.resize(static_cast<std::size_t>(w.size()));
    alignment.keys = keep == nullptr ? w.size() : std::count(keep, keep + w.size(), std::uint8_t{1});
    ++alignment.queries;
    Row::Index key = 0;
    const double weight = w.maxCoeff(&key);
    double& strongest = alignment.strongest[static_cast<std::size_t>(key)];
    strongest = std::max(strongest, weight);
}

double alignment_of(const std::vector<HeadScoreSums::Alignment>& sequences) {
    double sum = 0;
    std::int64_t pairs = 0;
    for (const HeadScoreSums::Alignment& sequence : sequences) {
        sum = std::accumulate(sequence.strongest.begin(), sequence.strongest.end(), sum);
        pairs += std::min(sequence.queries, sequence.keys);
    }
    return pairs > 0 ? sum / static_cast<double>(pairs) : 0;
}

double mean(double sum, std::int64_t count) { return count > 0 ? sum / static_cast<double>(count) : 0; }

}  // namespace

void HeadScoreSums::add(const Tensor<float>& rows, const Mask* mask, std::int64_t first) {
    const Shape& shape = rows.shape();
    const std::int64_t heads = shape[1].size;
    sums_.resize(static_cast<std::size_t>(heads));
    for (std::int64_t b = 0; b < shape[0].size; ++b)
        for (std::int64_t head = 0; head < heads; ++head)
            for (std::int64_t t = 0; t < shape[2].size && first + t < tokens_.lengths[static_cast<std::size_t>(b)]; ++t) {
                if (mask != nullptr && mask->row_fully_masked(b, head, t)) continue;
                Sums& sums = sums_[static_cast<std::size_t>(head)];
                const Row row = matrix_of(rows, b * heads + head).row(t).cast<double>();
                add_shape(row, first + t, sums);
                if (id_.attention == kCrossAttention) {
                    sums.alignments.resize(static_cast<std::size_t>(shape[0].size));
                    add_alignment(row, mask == nullptr ? nullptr : mask->keep_row(b, head, t),
                                  sums.alignments[static_cast<std::size_t>(b)]);
                    continue;
                }
                add_positions(row, first + t, sums);
                add_induction(row, first + t, tokens_.ids.data() + b * tokens_.length, sums);
            }
}

std::vector<HeadScore> HeadScoreSums::scores() const {
    std::vector<HeadScore> all;
    for (const Sums& sums : sums_) {
        HeadScore score;
        score.id = id_;
        score.head = std::ssize(all);
        score.previous_token = mean(sums.previous, sums.later_rows);
        score.first_token = mean(sums.first, sums.later_rows);
        score.same_token = mean(sums.same, sums.later_rows);
        score.induction = mean(sums.induction, sums.induction_rows);
        score.entropy = mean(sums.entropy, sums.rows);
        score.distance = mean(sums.distance, sums.rows);
        score.alignment = alignment_of(sums.alignments);
        score.rows = sums.rows;
        score.induction_rows = sums.induction_rows;
        all.push_back(score);
    }
    return all;
}

std::vector<HeadScore> head_scores(const Trace<float>& trace) {
    std::vector<HeadScore> scores;
    for (const RecordedStage<float>& stage : trace.stages) {
        if (stage.id.stage != Stage::Weights) continue;
        HeadScoreSums sums(stage.id, trace.tokens_of(stage.id.stack));
        sums.add(stage.value, stage.mask.get(), 0);
        const std::vector<HeadScore> found = sums.scores();
        scores.insert(scores.end(), found.begin(), found.end());
    }
    return scores;
}

}  // namespace attn
