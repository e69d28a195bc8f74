#include "engine/attention/multi_head.hpp"

#include <algorithm>
#include <string>

#include "engine/ops/parallel.hpp"
#include "engine/tensor/error.hpp"

namespace attn {

template <class Scalar>
void split_heads(const Tensor<Scalar>& packed, const HeadCut& cut, Tensor<Scalar>& out) {
    const Shape& shape = packed.shape();
    const std::int64_t first_column = cut.first_column, heads = cut.heads.size, head_size = cut.head_size;
    if (shape.rank() != 3 || first_column < 0 || first_column + heads * head_size > shape[2].size)
        throw ShapeError("columns " + std::to_string(first_column) + " to " + std::to_string(first_column + heads * head_size) +
                         " cannot be split into heads from " + shape.text());
    const std::int64_t batches = shape[0].size, positions = shape[1].size, width = shape[2].size;
    out.resize({{Axis::B, batches}, cut.heads, {cut.position, positions}, {Axis::D, head_size}});
    parallel_for(batches * heads, positions * head_size, [&](std::int64_t bh) {
        const Scalar* from = packed.data() + bh / heads * positions * width + first_column + bh % heads * head_size;
        Scalar* to = out.data() + bh * positions * head_size;
        for (std::int64_t t = 0; t < positions; ++t) std::copy(from + t * width, from + t * width + head_size, to + t * head_size);
    });
}

template <class Scalar>
void join_heads(const Tensor<Scalar>& heads, std::int64_t first_column, Tensor<Scalar>& packed) {
    const Shape& shape = heads.shape();
    if (shape.rank() != 4) throw ShapeError("heads are joined from [B,H,T,D], not from " + shape.text());
    const std::int64_t count = shape[1].size, positions = shape[2].size, head_size = shape[3].size, width = packed.shape()[2].size;
    parallel_for(shape[0].size * count, positions * head_size, [&](std::int64_t bh) {
        const Scalar* from = heads.data() + bh * positions * head_size;
        Scalar* to = packed.data() + bh / count * positions * width + first_column + bh % count * head_size;
        for (std::int64_t t = 0; t < positions; ++t) std::copy(from + t * head_size, from + (t + 1) * head_size, to + t * width);
    });
}

template <class Scalar>
void split_heads_by_reshape(const Tensor<Scalar>& packed, const HeadCut& cut, Tensor<Scalar>& out) {
    const Shape& shape = packed.shape();
    const std::int64_t rows = shape[0].size * shape[1].size, width = cut.heads.size * cut.head_size;
    out.resize({shape[0], cut.heads, {cut.position, shape[1].size}, {Axis::D, cut.head_size}});
    for (std::int64_t row = 0; row < rows; ++row) {
        const Scalar* from = packed.data() + row * shape[2].size + cut.first_column;
        std::copy(from, from + width, out.data() + row * width);
    }
}

template <class Scalar>
void join_heads_by_reshape(const Tensor<Scalar>& heads, std::int64_t first_column, Tensor<Scalar>& packed) {
    const Shape& shape = heads.shape();
    const std::int64_t rows = shape[0].size * shape[2].size, width = shape[1].size * shape[3].size;
    for (std::int64_t row = 0; row < rows; ++row)
        std::copy(heads.data() + row * width, heads.data() + (row + 1) * width,
                  packed.data() + row * packed.shape()[2].size + first_column);
}

template <class Scalar>
void concat_heads(const Tensor<Scalar>& context, Tensor<Scalar>& concat) {
    const Shape& shape = context.shape();
    if (shape.rank() != 4) throw ShapeError("heads are joined from [B,H,T,D], not from " + shape.text());
    concat.resize({shape[0], {Axis::T, shape[2].size}, {Axis::C, shape[1].size * shape[3].size}});
    join_heads(context, 0, concat);
}

template void split_heads_by_reshape<float>(const Tensor<float>&, const HeadCut&, Tensor<float>&);
template void split_heads_by_reshape<double>(const Tensor<double>&, const HeadCut&, Tensor<double>&);
template void join_heads_by_reshape<float>(const Tensor<float>&, std::int64_t, Tensor<float>&);
template void join_heads_by_reshape<double>(const Tensor<double>&, std::int64_t, Tensor<double>&);
template void join_heads<float>(const Tensor<float>&, std::int64_t, Tensor<float>&);
template void join_heads<double>(const Tensor<double>&, std::int64_t, Tensor<double>&);
template void split_heads<float>(const Tensor<float>&, const HeadCut&, Tensor<float>&);
template void split_heads<double>(const Tensor<double>&, const HeadCut&, Tensor<double>&);
template void concat_heads<float>(const Tensor<float>&, Tensor<float>&);
template void concat_heads<double>(const Tensor<double>&, Tensor<double>&);

}  // namespace attn
