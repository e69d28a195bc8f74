#pragma once
/// What each head is worth: the model measured once more without it.

#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

#include "engine/trace/head_worth.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// What each position is to predict: the token after it; kIgnoredTarget at the end of a text and in its padding.
std::vector<std::int32_t> next_tokens(const TokenBatch& tokens);

/// Measures the trace's model, text and settings, its edits included, without each of its heads. `progress` is told how many heads are
/// done, of how many, before each one. Throws ConfigError for a model without an output head, Error for a place that the trace does not
/// have, Cancelled once `stop` is requested.
KnockOut knock_out_heads(const Trace<float>& trace, const KnockOutQuestion& question,
                         const std::function<void(std::size_t done, std::size_t total)>& progress, std::stop_token stop = {});

}  // namespace attn
