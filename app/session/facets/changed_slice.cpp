#include "app/session/values/changed_slice.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "app/session/facets/ask.hpp"
#include "app/session/facets/asked_parts.hpp"
#include "app/session/facets/work.hpp"
#include "app/session/values/map_tensors.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/tensor/error.hpp"
#include "engine/trace/meant.hpp"

namespace attn::app {
namespace {

bool is_masked(const NumberGrid& grid, std::int64_t row, std::int64_t col) {
    return grid.keep != nullptr && grid.keep[row * grid.cols + col] == 0;
}

float number_at(const NumberGrid& grid, std::int64_t row, std::int64_t col) {
    return grid.at(row * grid.row_stride + col * grid.col_stride);
}

ChangedSlice empty_slice(const NumberGrid& like) {
    ChangedSlice slice;
    slice.values.resize(static_cast<std::size_t>(like.rows * like.cols));
    return slice;
}

ChangedSlice counted(ChangedSlice slice, const NumberGrid& like) {
    if (slice.values.empty()) return slice;
    const NumberGrid grid = slice.grid(like.cols);
    slice.statistics = statistics_of(std::span(&grid, 1));
    return slice;
}

/// As recorded or, where only an outline is held, as its settings say; none if that is not known.
std::optional<Mask> mask_of_weights(const Trace<float>& trace, const StageId& id) {
    if (const RecordedStage<float>* weights = trace.find(id))
        return weights->mask != nullptr ? std::optional(*weights->mask) : std::nullopt;
    const bool known = trace.plan != nullptr && trace.plan->find(id) != nullptr && !trace.settings.mistaken();
    return known ? std::optional(meant_mask(trace, id)) : std::nullopt;
}

}  // namespace

ChangedSlice slice_without_first_key(const NumberGrid& weights) {
    ChangedSlice slice = empty_slice(weights);
    slice.keep.resize(slice.values.size());
    std::size_t at = 0;
    for (std::int64_t row = 0; row < weights.rows; ++row) {
        double sum = 0;
        for (std::int64_t col = 1; col < weights.cols; ++col) sum += static_cast<double>(number_at(weights, row, col));
        for (std::int64_t col = 0; col < weights.cols; ++col, ++at) {
            if (col != 0 && sum != 0) slice.values[at] = static_cast<float>(static_cast<double>(number_at(weights, row, col)) / sum);
            slice.keep[at] = col != 0 && !is_masked(weights, row, col);
        }
    }
    return counted(std::move(slice), weights);
}

ChangedSlice norm_weighted_slice(const NumberGrid& weights, const float* norms) {
    ChangedSlice slice = empty_slice(weights);
    if (weights.keep != nullptr) slice.keep.assign(weights.keep, weights.keep + slice.values.size());
    std::size_t at = 0;
    for (std::int64_t row = 0; row < weights.rows; ++row)
        for (std::int64_t col = 0; col < weights.cols; ++col, ++at) slice.values[at] = number_at(weights, row, col) * norms[col];
    return counted(std::move(slice), weights);
}

const float* norms_of_head(const Tensor<float>& norms, std::int64_t sequence, std::int64_t head) {
    const Shape& shape = norms.shape();
    return norms.data() + (std::min(sequence, shape[0].size - 1) * shape[1].size + head) * shape[2].size;
}

ChangedSlice slice_difference(const NumberGrid& now, const NumberGrid& before, bool probabilities) {
    ChangedSlice slice = empty_slice(now);
    if (now.keep != nullptr || before.keep != nullptr) slice.keep.assign(slice.values.size(), 1);
    std::size_t at = 0;
    for (std::int64_t row = 0; row < now.rows; ++row)
        for (std::int64_t col = 0; col < now.cols; ++col, ++at) {
            // Masked weights are exactly 0 and can be subtracted; masked scores have no value.
            const bool now_masked = is_masked(now, row, col), before_masked = is_masked(before, row, col);
            const bool masked = probabilities ? now_masked && before_masked : now_masked || before_masked;
            if (masked) slice.keep[at] = 0;
            else slice.values[at] = number_at(now, row, col) - number_at(before, row, col);
        }
    if (std::find(slice.keep.begin(), slice.keep.end(), 0) == slice.keep.end()) slice.keep.clear();
    return counted(std::move(slice), now);
}

ChangedSlice slice_row_sums(const NumberGrid& grid) {
    ChangedSlice sums;
    for (std::int64_t row = 0; row < grid.rows; ++row) {
        double sum = 0;
        for (std::int64_t col = 0; col < grid.cols; ++col)
            if (!is_masked(grid, row, col)) sum += static_cast<double>(number_at(grid, row, col));
        sums.values.push_back(static_cast<float>(sum));
    }
    return counted(std::move(sums), {.rows = grid.rows, .cols = 1});
}

ChangedSlice slice_of_totals(const TotalsMap& map) {
    const auto& [trace, totals, rollout, layer, sequence] = map;
    if (layer >= totals.head_means.size() || sequence < 0 || sequence >= totals.head_means[layer].sequences())
        throw Error("there are no such totals");
    const std::int64_t positions = totals.head_means[layer].positions();
    ChangedSlice slice;
    slice.values = rollout ? totals.rollouts[layer].sequence(sequence) : mean_of_layers(totals, layer, sequence);
    const std::optional<Mask> mask = mask_of_weights(trace, {Stage::Weights, static_cast<int>(layer), totals.stack});
    if (mask && !mask->allows_everything()) {
        const std::uint8_t* keep = mask->keep_row(sequence, 0, 0);
        slice.keep.resize(slice.values.size());
        for (std::size_t at = 0; at < slice.keep.size(); ++at) slice.keep[at] = keep[at] != 0 || slice.values[at] != 0;
    }
    return counted(std::move(slice), {.rows = positions, .cols = positions});
}

namespace {

/// What a slice is computed from.
struct AskedSlice {
    SequenceOfStage numbers, other;              ///< `other` is subtracted
    std::shared_ptr<const Tensor<float>> norms;  ///< see facet::ValueNorms
};

ChangedSlice slice_from(const AskedSlice& asked, const facet::ChangedSlice& wanted) {
    const NumberGrid grid = asked.numbers.head(wanted.head);
    if (wanted.row_sums) return slice_row_sums(grid);
    if (wanted.change.minus != nullptr) {
        const NumberGrid other = asked.other.head(wanted.subtracted().head);
        if (grid.rows != other.rows || grid.cols != other.cols) throw Error("the two states have different shapes");
        return slice_difference(grid, other, has_probabilities(wanted.stage.stage));
    }
    const auto moved = [&](const NumberGrid& weights) {
        return norm_weighted_slice(weights, norms_of_head(*asked.norms, wanted.sequence, wanted.head));
    };
    if (!wanted.change.without_first_key) return moved(grid);
    ChangedSlice rest = slice_without_first_key(grid);
    return wanted.change.norm_weighted ? moved({rest.values.data(), grid.rows, grid.cols, grid.cols, rest.keep.data()}) : rest;
}

}  // namespace

Job<ChangedSlice> facet::ChangedSlice::make(const ChangedSlice& wanted, Ask& ask) {
    const StateRef &state = ask.state(), &minus = wanted.change.minus;
    const auto pass = ask.pass_to(wanted.stage);
    AskedSlice asked{ask_sequence(ask, state, pass, wanted.stage, wanted.sequence, wanted.part, wanted.head < 0), {}, nullptr};
    if (wanted.change.norm_weighted) asked.norms = ask(ValueNorms::of(wanted.stage));
    if (minus != nullptr) {
        const ChangedSlice other = wanted.subtracted();
        const auto other_pass = minus == state ? ask.pass_to(other.stage) : ask.of(minus, Trace{});
        asked.other = ask_sequence(ask, minus, other_pass, other.stage, other.sequence, other.part, other.head < 0);
    }
    return [wanted, pass, asked](const Work& work) -> Made<app::ChangedSlice> {
        const Shape shape = pass->trace->shape_of(wanted.stage);
        const std::int64_t cells = shape[shape.rank() - 2].size * (wanted.row_sums ? 1 : shape[shape.rank() - 1].size);
        work.expect_room(static_cast<double>(cells) * (sizeof(float) + sizeof(std::uint8_t)) / (1024.0 * 1024.0));
        app::ChangedSlice made = slice_from(asked, wanted);
        const double mib = made.mib();
        return {std::move(made), mib};
    };
}

}  // namespace attn::app
