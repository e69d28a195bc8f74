#pragma once
/// The gradients of all parameters of a model.

#include <span>
#include <vector>

#include "engine/weights/parameters.hpp"

namespace attn {

template <class Scalar>
struct Gradients {
    explicit Gradients(const Config& config);
    Gradients(const Gradients&) = delete;
    Gradients& operator=(const Gradients&) = delete;
    Parameters<Scalar> values;
    /// Gradients that a pass only adds to and that must be 0 before it: all except the matrices of linear maps, which are written by a
    /// single product.
    std::vector<std::span<Scalar>> sums;
};

}  // namespace attn
