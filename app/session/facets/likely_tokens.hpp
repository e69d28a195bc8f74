#pragma once
/// The likeliest tokens in a row of a stage over the vocabulary.

#include <vector>

#include "app/session/values/explanation.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

/// The most tokens to list.
inline constexpr std::size_t kMostLikelyTokens = 8;

/// Of the cell's row of logits or probabilities, likeliest first; equal ones by number, NaN last. Empty for another stage, and if the trace
/// does not hold the probabilities.
std::vector<LikelyToken> likely_tokens(const Trace<float>& trace, const CellRef& cell);

}  // namespace attn::app
