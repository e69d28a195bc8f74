#pragma once
/// A map between the tokens of a text, held in half the memory if no token sees a later one.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/tensor/tensor.hpp"

namespace attn {

/// Numbers [B,T,T]: row t is what position t gets from every position. If everything above the diagonal is 0 in all sequences, as in a
/// causal model, only the rest is held. Every number is returned exactly as it was given.
class TokenMap {
public:
    /// Throws ShapeError unless `whole` is [B,T,T].
    explicit TokenMap(const Tensor<float>& whole);

    std::int64_t sequences() const { return sequences_; }
    std::int64_t positions() const { return positions_; }
    /// Whether no position gets anything from a later one.
    bool is_lower() const { return lower_; }
    float operator()(std::int64_t b, std::int64_t t, std::int64_t s) const {
        return s < held_of_row(t) ? numbers_[row_at(b, t) + static_cast<std::size_t>(s)] : 0.F;
    }
    /// Writes the T numbers of a row.
    void copy_row(std::int64_t b, std::int64_t t, float* out) const;
    /// One sequence, [T,T] row by row.
    std::vector<float> sequence(std::int64_t b) const;

    /// The address of the held numbers, which tells maps apart.
    const float* data() const { return numbers_.data(); }
    std::size_t bytes() const { return numbers_.size() * sizeof(float); }

private:
    std::int64_t held_of_row(std::int64_t t) const { return lower_ ? t + 1 : positions_; }
    std::size_t row_at(std::int64_t b, std::int64_t t) const {
        const std::int64_t row = b * positions_ + t, triangle = positions_ * (positions_ + 1) / 2;
        return static_cast<std::size_t>(lower_ ? b * triangle + t * (t + 1) / 2 : row * positions_);
    }

    std::int64_t sequences_ = 0, positions_ = 0;
    bool lower_ = true;
    std::vector<float> numbers_;
};

}  // namespace attn
