#pragma once
/// Outlines made from others: that of a changed text, and the rest of one that was begun.

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>

#include "engine/tensor/token_batch.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// How many positions at the beginning of `tokens` have the same numbers in this outline: the length of the common prefix, for a
/// model and settings for which prefix_stays(); else 0, and 0 for several texts.
template <class Scalar>
std::int64_t positions_kept(const Trace<Scalar>& outline, const TokenBatch& tokens);

/// The outline of another text, with the same stages. Computes only the positions after positions_kept() and, if the outline has no keys
/// and values, those of the positions before. `before` as in OutlineLimits. Throws like trace_forward().
template <class Scalar>
Trace<Scalar> continue_outline(const Trace<Scalar>& outline, const TokenBatch& tokens, std::stop_token stop = {},
                               const std::optional<StageId>& before = {});

/// Computes the layers that a begun outline lacks. `attended` as it was begun with; `known`: the outline of a text with the same beginning,
/// as for continue_outline(), or null. Throws like trace_forward().
template <class Scalar>
Trace<Scalar> complete_outline(std::shared_ptr<const Trace<Scalar>> begun, bool attended, const Trace<Scalar>* known = nullptr,
                               std::stop_token stop = {});

}  // namespace attn
