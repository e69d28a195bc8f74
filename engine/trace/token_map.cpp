#include "engine/trace/token_map.hpp"

#include <algorithm>

#include "engine/tensor/error.hpp"

namespace attn {

TokenMap::TokenMap(const Tensor<float>& whole) {
    const Shape& shape = whole.shape();
    if (shape.rank() != 3 || shape[1].size != shape[2].size) throw ShapeError(shape.text() + " is not a map between the tokens of a text");
    sequences_ = shape[0].size, positions_ = shape[1].size;
    const std::int64_t rows = sequences_ * positions_;
    const auto row = [&](std::int64_t i) { return whole.data() + i * positions_; };
    for (std::int64_t i = 0; i < rows && lower_; ++i)
        lower_ = std::all_of(row(i) + i % positions_ + 1, row(i) + positions_, [](float x) { return x == 0; });
    numbers_.reserve(row_at(sequences_, 0));
    for (std::int64_t i = 0; i < rows; ++i) numbers_.insert(numbers_.end(), row(i), row(i) + held_of_row(i % positions_));
}

void TokenMap::copy_row(std::int64_t b, std::int64_t t, float* out) const {
    const auto from = numbers_.begin() + static_cast<std::ptrdiff_t>(row_at(b, t));
    float* const end = std::copy(from, from + held_of_row(t), out);
    std::fill(end, out + positions_, 0.F);
}

std::vector<float> TokenMap::sequence(std::int64_t b) const {
    std::vector<float> out(static_cast<std::size_t>(positions_ * positions_));
    for (std::int64_t t = 0; t < positions_; ++t) copy_row(b, t, out.data() + t * positions_);
    return out;
}

}  // namespace attn
