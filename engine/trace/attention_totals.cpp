#include "engine/trace/attention_totals.hpp"

#include <algorithm>

#include "engine/ops/parallel.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

Tensor<float> to_float(const Tensor<double>& x) {
    Tensor<float> out(x.shape());
    std::transform(x.values().begin(), x.values().end(), out.data(), [](double v) { return static_cast<float>(v); });
    return out;
}

/// next = Ã before, for every sequence. A position without weight adds nothing, whatever stands there.
Tensor<double> roll_on(const Tensor<float>& a, const Tensor<double>& before) {
    const Shape& shape = a.shape();
    const std::int64_t positions = shape[1].size;
    Tensor<double> next(shape);
    parallel_for(shape[0].size * positions, positions * positions, [&](std::int64_t row) {
        const std::int64_t b = row / positions, t = row % positions;
        const std::vector<double> mixed = with_residual(a.data() + row * positions, positions, t);
        double* out = next.data() + row * positions;
        for (std::int64_t j = 0; j < positions; ++j) {
            const double share = mixed[static_cast<std::size_t>(j)];
            if (share == 0) continue;
            const double* source = before.data() + (b * positions + j) * positions;
            for (std::int64_t s = 0; s < positions; ++s) out[s] += share * source[s];
        }
    });
    return next;
}

Tensor<double> identity(const Shape& shape) {
    Tensor<double> out(shape);
    for (std::int64_t b = 0; b < shape[0].size; ++b)
        for (std::int64_t t = 0; t < shape[1].size; ++t) out(b, t, t) = 1;
    return out;
}

}  // namespace

Tensor<float> head_mean(const RecordedStage<float>& weights) {
    const Shape& shape = weights.value.shape();
    if (shape.rank() != 4) throw ShapeError(tensor_name(weights.id) + " " + shape.text() + " is no attention map");
    const std::int64_t heads = shape[1].size, queries = shape[2].size, keys = shape[3].size;
    Tensor<float> out({shape[0], shape[2], shape[3]});
    parallel_for(shape[0].size * queries, heads * keys, [&](std::int64_t row) {
        const std::int64_t b = row / queries, t = row % queries;
        for (std::int64_t s = 0; s < keys; ++s) {
            double sum = 0;
            for (std::int64_t h = 0; h < heads; ++h) sum += weights.value(b, h, t, s);
            out(b, t, s) = static_cast<float>(sum / static_cast<double>(heads));
        }
    });
    return out;
}

std::vector<double> with_residual(const float* a, std::int64_t positions, std::int64_t t) {
    std::vector<double> mixed(static_cast<std::size_t>(positions));
    double sum = 0;
    for (std::int64_t s = 0; s < positions; ++s) {
        const double share = 0.5 * a[s] + (s == t ? 0.5 : 0.0);
        mixed[static_cast<std::size_t>(s)] = share;
        sum += share;
    }
    for (double& share : mixed) share = sum == 0 ? 0 : share / sum;
    return mixed;
}

AttentionTotals attention_totals(const Trace<float>& trace, Stack stack, const std::stop_token& stop) {
    AttentionTotals totals;
    totals.stack = stack;
    Tensor<double> rollout, sum;
    for (int layer = 0; layer < trace.config.num_layers; ++layer) {
        if (stop.stop_requested()) throw Cancelled();
        const StageId id{Stage::Weights, layer, stack};
        const RecordedStage<float>* weights = trace.find(id);
        if (weights == nullptr) throw Error("the trace has no " + tensor_name(id));
        Tensor<float> mean = head_mean(*weights);
        if (layer == 0) {
            rollout = identity(mean.shape());
            sum = Tensor<double>(mean.shape());
        }
        rollout = roll_on(mean, rollout);
        Tensor<double> average(mean.shape());
        for (std::int64_t i = 0; i < mean.size(); ++i) {
            sum.data()[i] += mean.data()[i];
            average.data()[i] = sum.data()[i] / (layer + 1);
        }
        totals.rollouts.push_back(to_float(rollout));
        totals.means.push_back(to_float(average));
        totals.head_means.push_back(std::move(mean));
    }
    return totals;
}

}  // namespace attn
