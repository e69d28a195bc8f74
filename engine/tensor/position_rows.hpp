#pragma once
/// The rows of some positions of a stage [1,T,C] or [1,H,T,D]: every tensor of one text that is made position by position.

#include <algorithm>
#include <cstdint>

#include "engine/tensor/tensor.hpp"

namespace attn {

/// How the rows of positions lie in a tensor: in `blocks` (heads) of `positions` rows of `width` numbers.
struct PositionRows {
    explicit PositionRows(const Shape& shape)
        : axis(shape.rank() == 4 ? 2 : 1), blocks(axis == 2 ? shape[1].size : 1), positions(shape[axis].size),
          width(shape.rank() > axis + 1 ? shape[axis + 1].size : 1) {}
    int axis;
    std::int64_t blocks, positions, width;
};

/// The same shape for another number of positions.
inline Shape with_positions(const Shape& shape, std::int64_t positions) { return shape.with_size(PositionRows(shape).axis, positions); }

/// Copies `count` positions, from `from` on in one tensor, to `to` on in another.
template <class Scalar>
void copy_positions(const Tensor<Scalar>& source, std::int64_t from, Tensor<Scalar>& target, std::int64_t to, std::int64_t count) {
    const PositionRows read(source.shape()), write(target.shape());
    for (std::int64_t block = 0; block < read.blocks; ++block)
        std::copy_n(source.data() + (block * read.positions + from) * read.width, count * read.width,
                    target.data() + (block * write.positions + to) * write.width);
}

}  // namespace attn
