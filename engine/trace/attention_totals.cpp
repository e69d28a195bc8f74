#include "engine/trace/attention_totals.hpp"

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

/// R = Ã R for every sequence. Positions with weight 0 contribute nothing, even if their row is NaN or infinite.
void roll_on(const Tensor<float>& mean, Tensor<double>& rollout) {
    const std::int64_t positions = mean.shape()[1].size;
    for (std::int64_t b = 0; b < mean.shape()[0].size; ++b) {
        const RowMajor<double> before = matrix_of(rollout, b);
        const bool all_numbers = before.allFinite();
        parallel_for(positions, positions * positions, [&](std::int64_t t) {
            const std::vector<double> shares = with_residual(matrix_of(mean, b).row(t).data(), positions, t);
            const auto mixed = RowVector<double>::Map(shares.data(), positions);
            auto after = matrix_of(rollout, b).row(t);
            after.setZero();
            if (all_numbers) after.noalias() += mixed * before;
            else
                for (std::int64_t s = 0; s < positions; ++s)
                    if (mixed[s] != 0) after += mixed[s] * before.row(s);
        });
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

Tensor<float> mean_of_layers(const AttentionTotals& totals, std::size_t layer, std::int64_t sequence) {
    const Shape& shape = totals.head_means.at(layer).shape();
    Tensor<float> out({{Axis::B, 1}, shape[1], shape[2]});
    parallel_for(shape[1].size, static_cast<std::int64_t>(layer + 1) * shape[1].size * shape[2].size, [&](std::int64_t t) {
        RowVector<double> sum = RowVector<double>::Zero(shape[2].size);
        for (std::size_t l = 0; l <= layer; ++l) sum += matrix_of(totals.head_means[l], sequence).row(t).cast<double>();
        matrix_of(out, 0).row(t) = (sum / static_cast<double>(layer + 1)).cast<float>();
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

void TotalsOfLayers::add(Tensor<float> mean) {
    if (totals_.head_means.empty()) {
        rollout_ = Tensor<double>(mean.shape());
        for (std::int64_t b = 0; b < mean.shape()[0].size; ++b) matrix_of(rollout_, b).setIdentity();
    }
    roll_on(mean, rollout_);
    totals_.head_means.push_back(std::move(mean));
    totals_.rollouts.push_back(to_float(rollout_));
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
