#include "engine/trace/attention_totals.hpp"

#include <algorithm>

#include "engine/ops/gemm.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tensor/matrix.hpp"

namespace attn {
namespace {

Tensor<float> to_float(const Tensor<double>& x) {
    Tensor<float> out(x.shape());
    array_of(out) = array_of(x).cast<float>();
    return out;
}

/// Rows of Ã that are mixed at a time: few enough to save memory, enough for a fast product.
constexpr std::int64_t kMixedRows = 128;

/// Ã, some rows at a time.
class MixedRows {
public:
    MixedRows(const TokenMap& mean, std::int64_t sequence)
        : mean_(mean), sequence_(sequence), shares_({{Axis::T, std::min(kMixedRows, mean.positions())}, {Axis::S, mean.positions()}}) {}

    /// Rows [first, first + count); those given before are replaced.
    const double* read(std::int64_t first, std::int64_t count) {
        const std::int64_t positions = mean_.positions();
        parallel_for(count, count * positions, [&](std::int64_t i) {
            std::vector<float> a(static_cast<std::size_t>(positions));
            mean_.copy_row(sequence_, first + i, a.data());
            const std::vector<double> shares = with_residual(a.data(), positions, first + i);
            std::copy(shares.begin(), shares.end(), shares_.data() + i * positions);
        });
        return shares_.data();
    }

private:
    const TokenMap& mean_;
    std::int64_t sequence_;
    Tensor<double> shares_;
};

/// after = mixed · before, of `rows` rows of T numbers; `seen`: the columns of `mixed` that may not be 0.
void multiply(const double* mixed, const double* before, std::int64_t rows, std::int64_t seen, std::int64_t positions, double* after) {
    parallel_gemm<double>(
        {.m = rows, .n = seen, .k = seen, .a = mixed, .lda = positions, .b = before, .ldb = positions, .c = after, .ldc = positions});
}

/// The same where a number of `before` is NaN or infinite: positions with weight 0 contribute nothing, whatever their row holds.
void multiply_what_has_weight(const double* mixed, const double* before, std::int64_t rows, std::int64_t positions, double* after) {
    parallel_for(rows, rows * positions * positions, [&](std::int64_t t) {
        auto row = RowVector<double>::Map(after + t * positions, positions);
        row.setZero();
        for (std::int64_t s = 0; s < positions; ++s)
            if (const double share = mixed[t * positions + s]; share != 0)
                row += share * RowVector<double>::Map(before + s * positions, positions);
    });
}

/// R = Ã R in one sequence. If R and Ã are 0 above the diagonal, the last rows are replaced first: earlier ones do not need them.
void roll_on(const TokenMap& mean, std::int64_t sequence, bool is_lower, Tensor<double>& rollout) {
    const std::int64_t positions = mean.positions();
    double* const now = rollout.data() + sequence * positions * positions;
    const bool all_numbers = matrix_of(rollout, sequence).allFinite();
    std::vector<double> copied;
    if (!is_lower) copied.assign(now, now + positions * positions);
    const double* const before = is_lower ? now : copied.data();
    MixedRows mixed(mean, sequence);
    std::vector<double> after(static_cast<std::size_t>(std::min(kMixedRows, positions) * positions));
    for (std::int64_t end = positions; end > 0;) {
        const std::int64_t first = std::max<std::int64_t>(0, end - kMixedRows), rows = end - first;
        const double* const shares = mixed.read(first, rows);
        if (all_numbers) multiply(shares, before, rows, is_lower ? end : positions, positions, after.data());
        else multiply_what_has_weight(shares, before, rows, positions, after.data());
        const std::int64_t changed = all_numbers && is_lower ? end : positions;
        for (std::int64_t t = 0; t < rows; ++t) std::copy_n(after.data() + t * positions, changed, now + (first + t) * positions);
        end = first;
    }
}

}  // namespace

Tensor<float> head_mean(const RecordedStage<float>& weights) {
    const Shape& shape = weights.value.shape();
    if (shape.rank() != 4) throw ShapeError(tensor_name(weights.id) + " " + shape.text() + " is not an attention map");
    const std::int64_t heads = shape[1].size, queries = shape[2].size, keys = shape[3].size;
    Tensor<float> out({shape[0], shape[2], shape[3]});
    parallel_for(shape[0].size, heads * queries * keys, [&](std::int64_t b) {
        RowMajor<double> sum = RowMajor<double>::Zero(queries, keys);
        for (std::int64_t h = 0; h < heads; ++h) sum += matrix_of(weights.value, b * heads + h).cast<double>();
        matrix_of(out, b) = (sum / static_cast<double>(heads)).cast<float>();
    });
    return out;
}

std::vector<float> mean_of_layers(const AttentionTotals& totals, std::size_t layer, std::int64_t sequence) {
    const std::int64_t positions = totals.head_means.at(layer).positions();
    std::vector<float> out(static_cast<std::size_t>(positions * positions));
    parallel_for(positions, static_cast<std::int64_t>(layer + 1) * positions * positions, [&](std::int64_t t) {
        RowVector<double> sum = RowVector<double>::Zero(positions);
        RowVector<float> a(positions);
        for (std::size_t l = 0; l <= layer; ++l) {
            totals.head_means[l].copy_row(sequence, t, a.data());
            sum += a.cast<double>();
        }
        RowVector<float>::Map(out.data() + t * positions, positions) = (sum / static_cast<double>(layer + 1)).cast<float>();
    });
    return out;
}

std::vector<double> with_residual(const float* a, std::int64_t positions, std::int64_t t) {
    std::vector<double> out(static_cast<std::size_t>(positions));
    RowVector<double>::MapType mixed(out.data(), positions);
    mixed = 0.5 * RowVector<float>::Map(a, positions).cast<double>();
    mixed[t] += 0.5;
    if (const double sum = mixed.sum(); sum != 0) mixed /= sum;
    else mixed.setZero();
    return out;
}

void TotalsOfLayers::add(const Tensor<float>& mean) {
    if (totals_.head_means.empty()) {
        rollout_ = Tensor<double>(mean.shape());
        for (std::int64_t b = 0; b < mean.shape()[0].size; ++b) matrix_of(rollout_, b).setIdentity();
    }
    const TokenMap& held = totals_.head_means.emplace_back(mean);
    // A NaN spreads over its whole row.
    is_lower_ = is_lower_ && held.is_lower() && array_of(mean).allFinite();
    for (std::int64_t b = 0; b < held.sequences(); ++b) roll_on(held, b, is_lower_, rollout_);
    totals_.rollouts.emplace_back(to_float(rollout_));
}

AttentionTotals attention_totals(const Trace<float>& trace, Stack stack, const std::stop_token& stop) {
    TotalsOfLayers totals(stack);
    for (int layer = 0; layer < trace.config.layers_of(stack); ++layer) {
        if (stop.stop_requested()) throw Cancelled();
        const StageId id{Stage::Weights, layer, stack};
        const RecordedStage<float>* weights = trace.find(id);
        if (weights == nullptr) throw Error("the trace has no " + tensor_name(id));
        totals.add(head_mean(*weights));
    }
    return totals.take();
}

}  // namespace attn
