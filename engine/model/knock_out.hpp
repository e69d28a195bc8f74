#pragma once
/// What each head is worth: the model measured once more without it.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

#include "engine/trace/head_worth.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// What each position is to predict: the token after it; kIgnoredTarget at the end of a text and in its padding.
std::vector<std::int32_t> next_tokens(const TokenBatch& tokens);

/// Called with what is measured by then.
using KnockOutProgress = std::function<void(const KnockOut& so_far, std::size_t done)>;

/// Whether that is done some positions at a time: for the outline of a long text, whose maps need much room.
bool knocks_out_in_rows(const Trace<float>& trace);

/// Measures the trace's model, text and settings, its edits included, without each of its heads: first without those that add most to the
/// stream, as they are the likeliest to matter. `each` is called before the first head and after every one; the measures do not depend on
/// the order. Throws ConfigError for a model without an output head, Error for a place that the trace does not have, Cancelled once `stop`
/// is requested.
KnockOut knock_out_heads(const Trace<float>& trace, const KnockOutQuestion& question, const KnockOutProgress& each,
                         std::stop_token stop = {});

}  // namespace attn
