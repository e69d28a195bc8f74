#pragma once
/// Heads out of a packed projection and back side by side.

#include <cstdint>

#include "engine/tensor/tensor.hpp"

namespace attn {

/// How columns of packed rows [B,P,N] are cut into heads.
struct HeadCut {
    std::int64_t first_column = 0;
    Dim heads{Axis::H, 1};  ///< H, or G of keys and values
    std::int64_t head_size = 0;
    Axis position = Axis::T;  ///< what the axis P is called: T for queries, S for keys and values
};

/// Copies slices of `head_size` columns, starting at `first_column`, out of a packed projection.
///   packed [B,P,N]  ->  out [B,H,P,D]
/// Throws ShapeError when the columns are not there.
template <class Scalar>
void split_heads(const Tensor<Scalar>& packed, const HeadCut& cut, Tensor<Scalar>& out);

/// The inverse of split_heads, and its gradient: writes the columns back, leaving the others alone.
///   heads [B,H,P,D]  ->  packed [B,P,N], which has its shape already
template <class Scalar>
void join_heads(const Tensor<Scalar>& heads, std::int64_t first_column, Tensor<Scalar>& packed);

/// What comes of forgetting the transpose: the columns' numbers in their order, read as if they were [B,H,P,D] already.
///   packed [B,P,N]  ->  out [B,H,P,D]
template <class Scalar>
void split_heads_by_reshape(const Tensor<Scalar>& packed, const HeadCut& cut, Tensor<Scalar>& out);
/// Its inverse, and its gradient.
template <class Scalar>
void join_heads_by_reshape(const Tensor<Scalar>& heads, std::int64_t first_column, Tensor<Scalar>& packed);

/// Heads side by side.
///   context [B,H,T,D]  ->  concat [B,T,C=HD]
template <class Scalar>
void concat_heads(const Tensor<Scalar>& context, Tensor<Scalar>& concat);

}  // namespace attn
