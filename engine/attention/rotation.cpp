#include "engine/attention/rotation.hpp"

#include <algorithm>
#include <cmath>

#include "engine/ops/parallel.hpp"

namespace attn {

template <class Scalar>
void RotationTable<Scalar>::prepare(std::int64_t positions, const std::vector<double>& frequencies, double amplitude) {
    const bool known = frequencies == frequencies_ && amplitude == amplitude_;
    if (known && positions <= positions_) return;
    positions_ = known ? std::max(positions, 2 * positions_) : positions;
    if (!known) frequencies_ = frequencies;
    amplitude_ = amplitude;
    const std::size_t pairs = frequencies_.size();
    cosines_.resize(static_cast<std::size_t>(positions_) * pairs);
    sines_.resize(cosines_.size());
    for (std::size_t i = 0; i < pairs; ++i)
        for (std::int64_t t = 0; t < positions_; ++t) {
            const double angle = static_cast<double>(t) * frequencies_[i];
            cosines_[static_cast<std::size_t>(t) * pairs + i] = static_cast<Scalar>(amplitude * std::cos(angle));
            sines_[static_cast<std::size_t>(t) * pairs + i] = static_cast<Scalar>(amplitude * std::sin(angle));
        }
}

template <class Scalar>
void rotate_heads(const HeadsView<const Scalar>& x, const RotationSizes& sizes, const RotationTable<Scalar>& table, bool back,
                  const HeadsView<Scalar>& y) {
    const std::int64_t pairs = table.pairs();
    const Scalar sign = back ? Scalar{-1} : Scalar{1};
    parallel_for(sizes.batches * sizes.heads, 2 * sizes.positions * sizes.head_size, [&](std::int64_t bh) {
        for (std::int64_t t = 0; t < sizes.positions; ++t) {
            const Scalar *from = x.at(bh / sizes.heads, bh % sizes.heads, t), *cosines = table.cosines(sizes.first_position + t),
                         *sines = table.sines(sizes.first_position + t);
            Scalar* to = y.at(bh / sizes.heads, bh % sizes.heads, t);
            for (std::int64_t i = 0; i < pairs; ++i) {
                const Scalar a = from[i], b = from[i + pairs], sine = sign * sines[i];
                to[i] = a * cosines[i] - b * sine;
                to[i + pairs] = b * cosines[i] + a * sine;
            }
            if (to != from) std::copy(from + 2 * pairs, from + sizes.head_size, to + 2 * pairs);
        }
    });
}

template class RotationTable<float>;
template class RotationTable<double>;
template void rotate_heads<float>(const HeadsView<const float>&, const RotationSizes&, const RotationTable<float>&, bool,
                                  const HeadsView<float>&);
template void rotate_heads<double>(const HeadsView<const double>&, const RotationSizes&, const RotationTable<double>&, bool,
                                   const HeadsView<double>&);

}  // namespace attn
