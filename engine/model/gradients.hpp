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
    /// Those that a pass only adds to and that have to be 0 before it: all but the matrices of linear maps, which get one product each.
    std::vector<std::span<Scalar>> sums;
};

}  // namespace attn
