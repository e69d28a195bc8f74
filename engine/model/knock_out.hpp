#pragma once
/// Importance of every head: how an answer changes if the head is removed.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

#include "engine/trace/head_worth.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// The prediction target of each position, [B,T]: the next token, or kIgnoredTarget at the end of a text and in its padding.
std::vector<std::int32_t> next_tokens(const TokenBatch& tokens);

/// What each position of a shown text predicts, [B,T]: the next token; of an encoder, which reads from both sides, the token itself.
std::vector<std::int32_t> shown_targets(const Config& config, const TokenBatch& tokens);

/// Called with the results so far.
using KnockOutProgress = std::function<void(const KnockOut& so_far, std::size_t done)>;

/// Whether knock-out is computed some positions at a time: for outlines of long texts, whose maps would need too much memory.
bool knocks_out_in_rows(const Trace<float>& trace);

/// Measures the trace's model, text and settings (edits included) without each head in turn, starting with the heads that add most to the
/// stream, because they are likeliest to matter. The results do not depend on the order. `each` is called before the first head and after
/// every head. Throws ConfigError for a model without an output head, Error for a place that the trace does not have, Cancelled once `stop`
/// is requested.
KnockOut knock_out_heads(const Trace<float>& trace, const KnockOutQuestion& question, const KnockOutProgress& each,
                         std::stop_token stop = {});

}  // namespace attn
