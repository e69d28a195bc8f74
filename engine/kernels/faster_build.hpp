#pragma once
/// Decides by a short measurement which of two kernel builds is faster on this processor.

#include "engine/kernels/kernels.hpp"

namespace attn {

/// Returns `wide` unless `narrow` is clearly faster: on some processors AVX-512 lowers the clock by more than it gains. The processor must
/// support both. Takes about a millisecond, or a few when `narrow` wins.
KernelBuild faster_build(KernelBuild narrow, KernelBuild wide);

}  // namespace attn
