#pragma once
/// Attention totals over all layers of a long text, computed some positions at a time: holds only a few maps at once and returns them
/// reduced.

#include <functional>
#include <stop_token>

#include "engine/trace/attention_totals.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// Peak memory, in maps [T,S] of one number per cell.
inline constexpr double kMapsOfTotalsInRows = 3.5;

/// Totals of an outline for which can_compute_in_rows() is true: only their maps, reduced to `level` (see AttentionTotals). `each` is
/// called after every layer and may be empty. Throws Error if the outline cannot be computed in rows, Cancelled once `stop` is requested.
AttentionTotals totals_in_rows(const Trace<float>& outline, int level, const std::stop_token& stop = {},
                               const std::function<void()>& each = {});

/// head_mean() of a layer's weights, [1,T,S], in the memory of that map and a few rows. Bit-identical to that of the recorded stage; same
/// errors.
Tensor<float> head_mean_in_rows(const Trace<float>& outline, const StageId& weights, const std::stop_token& stop = {});

}  // namespace attn
