#pragma once
/// Which of two kernel builds is the faster one on this processor, by a short measurement.

#include "engine/kernels/kernels.hpp"

namespace attn {

/// `wide`, unless `narrow` is clearly faster: on some processors AVX-512 slows the clock by more than it gains. Both must be able to run
/// here. Takes about a millisecond, and a few where `narrow` wins.
KernelBuild faster_build(KernelBuild narrow, KernelBuild wide);

}  // namespace attn
