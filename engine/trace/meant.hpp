#pragma once
/// What a pass with a deliberate mistake started from and should have computed, for finding the mistake in its numbers.

#include "engine/trace/trace.hpp"

namespace attn {

/// The projection that a recorded q, k or v (or cross_q, ...) was split from.
///   ->  [B,P,C=HD]
/// Throws Error if the trace lacks the parameters or the stage's input.
Tensor<float> projection_before_split(const Trace<float>& trace, const StageId& id);
/// Its shape, for which nothing needs to be recorded.
Shape shape_before_split(const Trace<float>& trace, const StageId& id);

/// The correct mask for a recorded map under the trace's settings, whatever mistake the pass made.
Mask meant_mask(const Trace<float>& trace, const StageId& id);

}  // namespace attn
