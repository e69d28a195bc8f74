#pragma once
/// Rotary positions (Su et al., 2021): queries and keys turned by their position, so that a score depends on how far the two are apart.

#include <cstdint>
#include <vector>

#include "engine/attention/heads_view.hpp"

namespace attn {

/// Cosines and sines, times an amplitude, of the angles t * frequency i for positions t and pairs i. Grows by doubling, so that a text that
/// becomes longer token by token rarely needs a new one.
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

/// Sizes of the heads that are turned, and the position of their first rows.
struct RotationSizes {
    std::int64_t batches = 0, heads = 0, positions = 0, head_size = 0, first_position = 0;
};

/// Turns numbers i and i + P of a head together, P being the table's pairs: y_i = x_i cos - x_j sin, y_j = x_j cos + x_i sin. Numbers
/// behind the pairs stay as they are. `back` turns the other way, which is the gradient. y may be x.
template <class Scalar>
void rotate_heads(const HeadsView<const Scalar>& x, const RotationSizes& sizes, const RotationTable<Scalar>& table, bool back,
                  const HeadsView<Scalar>& y);

}  // namespace attn
