#pragma once
/// What the engine needs from floating-point arithmetic and a compiler or a library may have taken away.

namespace attn {

/// Throws Error unless NaN differs from itself, infinities compare and cancel as IEEE 754 says, and numbers below the normal range are not
/// flushed to 0. Build flags such as -ffast-math break the first two; a library started with them breaks the last for every thread.
void require_ieee_arithmetic();

}  // namespace attn
