#pragma once
/// A check that the build and the running process provide the IEEE 754 behaviour the engine depends on.

namespace attn {

/// Throws Error unless NaN compares unequal to itself, infinities compare and cancel as IEEE 754 says, and subnormal numbers are not
/// flushed to zero. Flags such as -ffast-math break the first two; loading a library built with them breaks the last for every thread.
void require_ieee_arithmetic();

}  // namespace attn
