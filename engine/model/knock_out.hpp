#pragma once
/// The importance of every part of a model: how an answer changes if it is removed, or replaced by that of another text.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

#include "engine/trace/part_worth.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// The prediction target of each position, [B,T]: the next token, or kIgnoredTarget at the end of a text and in its padding.
std::vector<std::int32_t> next_tokens(const TokenBatch& tokens);

/// What each position of a shown text predicts, [B,T]: the next token; of an encoder, which reads from both sides, the token itself.
std::vector<std::int32_t> shown_targets(const Config& config, const TokenBatch& tokens);

/// Called with the results so far.
using KnockOutProgress = std::function<void(const KnockOut& so_far, std::size_t done)>;

/// Measures the trace's model, text and settings (edits included) with each part in turn replaced, starting with those whose replacement
/// changes the stream most, because they are likeliest to matter. The results do not depend on the order. `each` is called before the first
/// part and after every part. Throws ConfigError for a model without an output head and for texts that do not fit each other, Error for a
/// place or text that the trace does not have, Cancelled once `stop` is requested.
KnockOut knock_out(const Trace<float>& trace, const KnockOutQuestion& question, const KnockOutProgress& each, std::stop_token stop = {});

}  // namespace attn
