#pragma once
/// Attention over all layers of a long text, some positions at a time: nothing but a few maps is held at once, and in the end what they
/// look like, reduced.

#include <functional>
#include <stop_token>

#include "engine/trace/attention_totals.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// How many maps [T,S] of one number each it takes at most.
inline constexpr double kMapsOfTotalsInRows = 3.5;

/// Totals of an outline that can_look_in_rows(): their maps alone, reduced to a level (see AttentionTotals). `each` is called after every
/// layer, and may be empty. Throws Error where the outline cannot be computed in rows, Cancelled once `stop` is requested.
AttentionTotals totals_in_rows(const Trace<float>& outline, int level, const std::stop_token& stop = {},
                               const std::function<void()>& each = {});

}  // namespace attn
