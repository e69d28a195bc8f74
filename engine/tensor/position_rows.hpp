#pragma once
/// Rows of single positions in a stage [1,T,C] or [1,H,T,D], the shapes of everything that one text computes position by position.

#include <algorithm>
#include <cstdint>

#include "engine/tensor/tensor.hpp"

namespace attn {

/// Where a position's rows are: the tensor is `blocks` (heads) times `positions` rows of `width` numbers.
struct PositionRows {
    explicit PositionRows(const Shape& shape)
        : axis(shape.rank() == 4 ? 2 : 1), blocks(axis == 2 ? shape[1].size : 1), positions(shape[axis].size),
          width(shape.rank() > axis + 1 ? shape[axis + 1].size : 1) {}
    int axis;
    std::int64_t blocks, positions, width;
};

/// The same shape with another number of positions.
inline Shape with_positions(const Shape& shape, std::int64_t positions) { return shape.with_size(PositionRows(shape).axis, positions); }

/// Copies `count` positions of `source`, starting at `from`, to those of `target` starting at `to`.
template <class Scalar>
void copy_positions(const Tensor<Scalar>& source, std::int64_t from, Tensor<Scalar>& target, std::int64_t to, std::int64_t count) {
    const PositionRows read(source.shape()), write(target.shape());
    for (std::int64_t block = 0; block < read.blocks; ++block)
        std::copy_n(source.data() + (block * read.positions + from) * read.width, count * read.width,
                    target.data() + (block * write.positions + to) * write.width);
}

}  // namespace attn
