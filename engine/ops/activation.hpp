#pragma once
/// The feed-forward block's nonlinearity.

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

/// y = f(x) where only activate_once_backward() needs x afterwards: x becomes whatever makes that fast.
///   x [n]  ->  y [n]  x [n]
template <class Scalar>
void activate_once(Activation activation, Scalar* x, std::int64_t n, Scalar* y);

/// True when activate_once() leaves the slope f'(x), by which dy then only has to be multiplied.
bool leaves_slope(Activation activation);

/// activate_backward() after activate_once().
///   x [n] as activate_once() left it  dy [n]  ->  dx [n]
template <class Scalar>
void activate_once_backward(Activation activation, const Scalar* x, const Scalar* dy, std::int64_t n, Scalar* dx);

}  // namespace attn
