#pragma once
/// How much a head moves from each key: a weight alone does not say it, since what it moves may be next to nothing.

#include "engine/plan/stage.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// The lengths |v W_O| of what the heads of an attention would add to the stream with a weight of 1, without W_O's bias and whatever norm
/// follows (Kobayashi et al., "Attention is Not Only a Weight: Analyzing Transformers with Vector Norms", 2020); |v| for a model without
/// W_O.
///   weights: the attention's weights stage; the trace has its values [B,G,S,D]  ->  [B,H,S]
/// Throws Error for another stage, and where the values are not recorded.
Tensor<float> moved_norms(const Trace<float>& trace, const StageId& weights);

/// The stage of the values that belong to a weights stage.
StageId values_of(const StageId& weights);

}  // namespace attn
