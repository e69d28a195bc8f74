#pragma once
/// The norms of norm-weighted attention. A weight alone does not tell how much a head adds from a key, because the vector that it
/// multiplies may be close to zero.

#include "engine/plan/stage.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// The norms |v W_O|: the length of what each head would add to the stream with a weight of 1, without W_O's bias and the norm that may
/// follow (Kobayashi et al., "Attention is Not Only a Weight: Analyzing Transformers with Vector Norms", 2020); |v| for a model without
/// W_O.
///   weights: an attention's weights stage; the trace must have its values [B,G,S,D]  ->  [B,H,S]
/// Throws Error for any other stage, or if the values are not recorded.
Tensor<float> value_norms(const Trace<float>& trace, const StageId& weights);

/// The values stage that belongs to a weights stage.
StageId values_of(const StageId& weights);

}  // namespace attn
