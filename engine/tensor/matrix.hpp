#pragma once
/// Tensors as Eigen maps, so that code reads like the matrix formula. Include it in .cpp files only: Eigen is slow to compile.

// Threads are distributed by engine/ops/parallel.hpp, not by Eigen.
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>

#include <type_traits>

#include "engine/tensor/tensor.hpp"

namespace attn {

template <class Scalar>
using RowMajor = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class Scalar>
using RowVector = Eigen::Matrix<Scalar, 1, Eigen::Dynamic>;

/// One matrix of a tensor's last two axes; in [B,H,T,S] sequence b and head h have index b H + h. Not checked.
template <class Scalar>
Eigen::Map<const RowMajor<Scalar>> matrix_of(const Tensor<Scalar>& x, std::int64_t which = 0) {
    const std::int64_t rows = x.shape()[x.shape().rank() - 2].size, columns = x.shape()[x.shape().rank() - 1].size;
    return {x.data() + which * rows * columns, static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns)};
}
template <class Scalar>
Eigen::Map<RowMajor<Scalar>> matrix_of(Tensor<Scalar>& x, std::int64_t which = 0) {
    const std::int64_t rows = x.shape()[x.shape().rank() - 2].size, columns = x.shape()[x.shape().rank() - 1].size;
    return {x.data() + which * rows * columns, static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns)};
}

/// A matrix whose rows begin `stride` numbers apart, such as some columns of a wider one.
template <class Scalar>
using MatrixAt = Eigen::Map<
    std::conditional_t<std::is_const_v<Scalar>, const RowMajor<std::remove_const_t<Scalar>>, RowMajor<std::remove_const_t<Scalar>>>, 0,
    Eigen::OuterStride<>>;
template <class Scalar>
MatrixAt<Scalar> matrix_at(Scalar* first, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
    return {first, static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns),
            Eigen::OuterStride<>(static_cast<Eigen::Index>(stride))};
}
template <class Scalar>
MatrixAt<Scalar> matrix_at(Scalar* first, std::int64_t rows, std::int64_t columns) {
    return matrix_at(first, rows, columns, columns);
}

/// All of a tensor's numbers in memory order, whatever its shape.
template <class Scalar>
auto array_of(const Tensor<Scalar>& x) {
    return Eigen::Map<const Eigen::Array<Scalar, Eigen::Dynamic, 1>>(x.data(), x.size());
}
template <class Scalar>
auto array_of(Tensor<Scalar>& x) {
    return Eigen::Map<Eigen::Array<Scalar, Eigen::Dynamic, 1>>(x.data(), x.size());
}

}  // namespace attn
