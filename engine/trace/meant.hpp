#pragma once
/// What a pass with a mistake started from and what was meant: for whoever is to find the mistake in its numbers.

#include "engine/trace/trace.hpp"

namespace attn {

/// The projection behind a recorded q, k or v (or their cross_ forms), before anything was split into heads.
///   ->  [B,P,C=HD]
/// Throws Error for a trace without parameters or without the stage's input.
Tensor<float> projection_before_split(const Trace<float>& trace, const StageId& id);

/// The mask that the settings mean for a recorded map, whatever mistake the pass made.
Mask meant_mask(const Trace<float>& trace, const StageId& id);

}  // namespace attn
