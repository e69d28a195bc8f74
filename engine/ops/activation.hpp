#pragma once
/// The feed-forward block's activation functions.

#include <cstdint>

#include "engine/plan/config.hpp"

namespace attn {

/// y = ReLU(x), GELU(x) (Hendrycks and Gimpel, 2016) by the error function or by tanh, or SiLU(x) = x / (1 + e^-x).
///   x [n]  ->  y [n]
template <class Scalar>
void activate(Activation activation, const Scalar* x, std::int64_t n, Scalar* y);

/// dx = f'(x) dy
///   x [n]  dy [n]  ->  dx [n]
template <class Scalar>
void activate_backward(Activation activation, const Scalar* x, const Scalar* dy, std::int64_t n, Scalar* dx);

/// y = f(x), for callers that need x only for activate_once_backward(): x is overwritten with what makes that fast.
///   x [n]  ->  y [n]  x [n]
template <class Scalar>
void activate_once(Activation activation, Scalar* x, std::int64_t n, Scalar* y);

/// True if activate_once() leaves the slope f'(x) in x, so that dx is just slope times dy.
bool leaves_slope(Activation activation);

/// The backward pass of activate_once().
///   x [n] as left by activate_once()  dy [n]  ->  dx [n]
template <class Scalar>
void activate_once_backward(Activation activation, const Scalar* x, const Scalar* dy, std::int64_t n, Scalar* dx);

}  // namespace attn
