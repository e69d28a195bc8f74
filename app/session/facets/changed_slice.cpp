#include "app/session/facets/changed_slice.hpp"

#include <algorithm>
#include <span>
#include <utility>

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
    const NumberGrid grid{slice.values.data(), like.rows, like.cols, like.cols, slice.keep.empty() ? nullptr : slice.keep.data()};
    slice.statistics = statistics_of(std::span(&grid, 1));
    return slice;
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

ChangedSlice slice_times_moved(const NumberGrid& weights, const float* norms) {
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

}  // namespace attn::app
