#include "engine/model/totals_in_rows.hpp"

#include <algorithm>
#include <utility>

#include "engine/model/looked_at_part.hpp"
#include "engine/model/text_rules.hpp"
#include "engine/ops/gemm.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tensor/matrix.hpp"

namespace attn {
namespace {

/// Rows of the rollout that are mixed at a time: few enough to save memory, enough for a fast product.
constexpr std::int64_t kMixedRows = 512;

/// The mean over a layer's heads, read some rows at a time in any order.
class RowsOfMeans {
public:
    RowsOfMeans(const Trace<float>& outline, const StageId& id, const std::stop_token& stop)
        : outline_(outline), id_(id), stop_(stop), read_(read_by_maps(outline, id, stop)) {}

    /// Rows [first, first + count) of the mean into `means` [count,S]; `keep` gets the cells that may be attended to or are not 0.
    void read(std::int64_t first, std::int64_t count, Tensor<float>& means, Mask& keep) {
        const std::int64_t keys = outline_.tokens.length;
        means.resize({{Axis::B, 1}, {Axis::H, 1}, {Axis::T, count}, {Axis::S, keys}});
        keep = Mask(count, keys);
        const auto add = [&](const StageRows<float>& shown) {
            if (shown.id != id_) return;
            const std::int64_t some = shown.value.shape()[2].size;
            const Tensor<float> mean = head_mean({shown.id, shown.value});
            std::copy_n(mean.data(), some * keys, means.data() + (shown.first - first) * keys);
            for (std::int64_t t = 0; shown.mask != nullptr && t < some; ++t)
                keep.set_row(shown.first - first + t, shown.mask->keep_row(0, 0, t));
        };
        show_map_rows(outline_, id_, &read_, first, count, add, stop_);
    }

private:
    const Trace<float>& outline_;
    StageId id_;
    std::stop_token stop_;
    Trace<float> read_;
};

/// Attention rollout, in the memory of one map if attention is causal, else of two.
class RolloutInRows {
public:
    RolloutInRows(std::int64_t positions, bool causal) : positions_(positions), causal_(causal) {}

    /// Rows given from now on belong to the next layer; within a layer they must come last rows first.
    void begin_layer() {
        has_before_ = layers_++ > 0;
        if (!causal_) std::swap(before_, after_);
        if (after_.empty()) after_ = Tensor<float>(shape(positions_));
        all_numbers_ = has_before_ && array_of(read()).allFinite();
    }
    /// Rows of Ã R, from the means over heads [rows,S].
    Tensor<float> roll_on(const Tensor<float>& means, std::int64_t first) {
        const std::int64_t rows = means.shape()[2].size, seen = causal_ ? first + rows : positions_;
        Tensor<float> mixed(shape(rows)), out(shape(rows));
        parallel_for(rows, positions_, [&](std::int64_t t) {
            const std::vector<double> shares = with_residual(means.data() + t * positions_, positions_, first + t);
            std::copy(shares.begin(), shares.end(), mixed.data() + t * positions_);
        });
        if (!has_before_) out = mixed;
        else if (all_numbers_) multiply(mixed, rows, seen, out);
        else multiply_what_has_weight(mixed, rows, out);
        std::copy_n(out.data(), rows * positions_, after_.data() + first * positions_);
        return out;
    }

private:
    Shape shape(std::int64_t rows) const { return {{Axis::B, 1}, {Axis::H, 1}, {Axis::T, rows}, {Axis::S, positions_}}; }
    const Tensor<float>& read() const { return causal_ ? after_ : before_; }
    void multiply(const Tensor<float>& mixed, std::int64_t rows, std::int64_t seen, Tensor<float>& out) const {
        const MatrixView known{read().data(), kNumberKind<float>, seen, seen, positions_, false};
        parallel_gemm<float>({.m = rows, .n = seen, .k = seen, .a = mixed.data(), .lda = positions_, .c = out.data(), .ldc = positions_},
                             known);
    }
    /// A key without weight adds nothing, even if its row is NaN or infinite.
    void multiply_what_has_weight(const Tensor<float>& mixed, std::int64_t rows, Tensor<float>& out) const {
        parallel_for(rows, positions_ * positions_, [&](std::int64_t t) {
            auto row = matrix_of(out).row(t);
            for (std::int64_t s = 0; s < positions_; ++s)
                if (const float share = matrix_of(mixed)(t, s); share != 0) row += share * matrix_of(read()).row(s);
        });
    }

    std::int64_t positions_;
    bool causal_;
    int layers_ = 0;
    bool has_before_ = false, all_numbers_ = false;
    Tensor<float> before_, after_;
};

/// Whether later positions are never seen.
bool is_causal(const ForwardSettings& settings) { return settings.masks.causal && settings.masks.prefix == 0 && !settings.mistaken(); }

/// A rollout or a mean may reach further than the mask of its last layer.
void keep_what_is_not_zero(const Tensor<float>& rows, Mask& keep) {
    const std::int64_t count = rows.shape()[2].size, keys = rows.shape()[3].size;
    for (std::int64_t t = 0; t < count; ++t)
        for (std::int64_t s = 0; s < keys; ++s)
            if (rows.data()[t * keys + s] != 0 && !keep.may_attend(0, 0, t, s)) keep.allow(t, s);
}

}  // namespace

AttentionTotals totals_in_rows(const Trace<float>& outline, int level, const std::stop_token& stop, const std::function<void()>& each) {
    if (!can_compute_in_rows(outline)) throw Error("these totals cannot be computed in rows");
    const std::int64_t positions = outline.tokens.length;
    const MapRegion all{0, positions, 0, positions, level};
    AttentionTotals totals;
    RolloutInRows rollout(positions, is_causal(outline.settings));
    Tensor<float> sum({{Axis::T, positions}, {Axis::S, positions}}), means;
    Mask keep;
    for (int layer = 0; layer < outline.config.num_layers; ++layer) {
        const StageId id{Stage::Weights, layer, totals.stack};
        RowsOfMeans rows(outline, id, stop);
        MapReducer reduced_rollout(id, all, 1), reduced_mean(id, all, 1);
        rollout.begin_layer();
        for (std::int64_t end = positions; end > 0;) {
            const std::int64_t first = std::max<std::int64_t>(0, (end - 1) / kMixedRows * kMixedRows), count = end - first;
            rows.read(first, count, means, keep);
            Tensor<float> rolled = rollout.roll_on(means, first);
            auto sums = RowMajor<float>::Map(sum.data() + first * positions, count, positions);
            sums += matrix_of(means);
            matrix_of(means) = sums / static_cast<float>(layer + 1);
            Mask keep_of_mean = keep;
            keep_what_is_not_zero(means, keep_of_mean);
            reduced_mean.add(means, &keep_of_mean, first);
            keep_what_is_not_zero(rolled, keep);
            reduced_rollout.add(rolled, &keep, first);
            end = first;
        }
        totals.reduced_rollouts.push_back(reduced_rollout.take());
        totals.reduced_means.push_back(reduced_mean.take());
        if (each) each();
    }
    return totals;
}

Tensor<float> head_mean_in_rows(const Trace<float>& outline, const StageId& weights, const std::stop_token& stop) {
    if (!can_compute_in_rows(outline)) throw Error("the mean over these heads cannot be computed in rows");
    const std::int64_t positions = outline.tokens.length;
    Tensor<float> mean({{Axis::B, 1}, {Axis::T, positions}, {Axis::S, positions}});
    const auto add = [&](const StageRows<float>& shown) {
        if (shown.id != weights) return;
        const Tensor<float> rows = head_mean({shown.id, shown.value});
        std::copy_n(rows.data(), rows.size(), mean.data() + shown.first * positions);
    };
    show_map_rows(outline, weights, nullptr, 0, positions, add, stop);
    return mean;
}

}  // namespace attn
