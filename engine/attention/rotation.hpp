#pragma once
/// Rotary position embedding, RoPE (Su et al., 2021, arXiv:2104.09864): queries and keys are rotated by an angle proportional to their
/// position, so that a score depends only on the distance between the two.

#include <cstdint>
#include <vector>

#include "engine/attention/heads_view.hpp"

namespace attn {

/// amplitude * cos and sin of t * frequencies[i] for positions t and pairs i. Grows by doubling, so that a text that grows token by token
/// rarely needs a new table.
template <class Scalar>
class RotationTable {
public:
    void prepare(std::int64_t positions, const std::vector<double>& frequencies, double amplitude = 1);
    std::int64_t pairs() const { return static_cast<std::int64_t>(frequencies_.size()); }
    const Scalar* cosines(std::int64_t t) const { return cosines_.data() + t * pairs(); }
    const Scalar* sines(std::int64_t t) const { return sines_.data() + t * pairs(); }

private:
    std::int64_t positions_ = 0;
    std::vector<double> frequencies_;
    double amplitude_ = 1;
    std::vector<Scalar> cosines_, sines_;  ///< [positions,pairs]
};

/// Sizes of the heads to rotate, and the position of their first row.
struct RotationSizes {
    std::int64_t batches = 0, heads = 0, positions = 0, head_size = 0, first_position = 0;
};

/// Rotates numbers i and j = i + P of a head's row together, where P = table.pairs(): y_i = x_i cos - x_j sin, y_j = x_j cos + x_i sin.
/// Numbers from 2P on are copied. `back` rotates the other way, which is the gradient.
///   x [B,H,T,D]  ->  y [B,H,T,D]; y may be x. The table must be prepared for all positions.
template <class Scalar>
void rotate_heads(const HeadsView<const Scalar>& x, const RotationSizes& sizes, const RotationTable<Scalar>& table, bool back,
                  const HeadsView<Scalar>& y);

}  // namespace attn
