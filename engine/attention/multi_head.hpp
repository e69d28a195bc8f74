#pragma once
/// Splits a packed projection into heads, and puts heads side by side again.

#include <cstdint>

#include "engine/tensor/tensor.hpp"

namespace attn {

/// Which columns of packed rows [B,P,N] become heads.
struct HeadCut {
    std::int64_t first_column = 0;
    Dim heads{Axis::H, 1};  ///< H, or G for keys and values
    std::int64_t head_size = 0;
    Axis position = Axis::T;  ///< the name of axis P: T for queries, S for keys and values
};

/// Copies the columns from `first_column` on, head_size for each head, out of a packed projection.
///   packed [B,P,N]  ->  out [B,H,P,D]
/// Throws ShapeError if the projection has too few columns.
template <class Scalar>
void split_heads(const Tensor<Scalar>& packed, const HeadCut& cut, Tensor<Scalar>& out);

/// The inverse of split_heads(), and its gradient: writes the heads' columns and leaves the others alone.
///   heads [B,H,P,D]  ->  packed [B,P,N], which must have its shape already
template <class Scalar>
void join_heads(const Tensor<Scalar>& heads, std::int64_t first_column, Tensor<Scalar>& packed);

/// The mistake of forgetting the transpose: the columns' numbers in memory order, taken for [B,H,P,D].
///   packed [B,P,N]  ->  out [B,H,P,D]
template <class Scalar>
void split_heads_by_reshape(const Tensor<Scalar>& packed, const HeadCut& cut, Tensor<Scalar>& out);
/// The inverse of split_heads_by_reshape(), and its gradient.
template <class Scalar>
void join_heads_by_reshape(const Tensor<Scalar>& heads, std::int64_t first_column, Tensor<Scalar>& packed);

/// Puts heads side by side. Throws ShapeError unless `context` has four axes.
///   context [B,H,T,D]  ->  concat [B,T,C=HD]
template <class Scalar>
void concat_heads(const Tensor<Scalar>& context, Tensor<Scalar>& concat);

}  // namespace attn
