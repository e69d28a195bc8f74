#pragma once
/// Every number of a model for one text: all values, and all gradients of the loss.

#include <memory>
#include <span>
#include <stop_token>

#include "engine/trace/gradient_trace.hpp"
#include "engine/trace/tap.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// A trace with these inputs and no stages.
template <class Scalar>
Trace<Scalar> unrecorded_trace(std::shared_ptr<const Parameters<Scalar>> parameters, const TokenBatch& tokens, const TokenBatch& source,
                               const ForwardSettings& settings);

/// Runs the model over `tokens` (and `source` for an encoder-decoder) and returns every stage; `each` sees them as they are computed and
/// may be empty. The result does not depend on the number of threads.
/// Throws ConfigError for settings that cannot work (such as a sequence longer than context_length), ShapeError for a batch with
/// inconsistent sizes, Error for a token id outside the vocabulary, Cancelled once `stop` is requested.
template <class Scalar>
Trace<Scalar> trace_forward(std::shared_ptr<const Parameters<Scalar>> parameters, const TokenBatch& tokens, const TokenBatch& source,
                            const ForwardSettings& settings, std::stop_token stop = {}, const StageObserver<Scalar>& each = {});

/// Runs the model forward and backward for the mean cross-entropy of `targets` [B,T], kIgnoredTarget where nothing is to be predicted.
/// Throws like trace_forward(), and ShapeError for a wrong number of targets, Error for one outside the vocabulary, ConfigError for a model
/// without a head.
template <class Scalar>
GradientTrace<Scalar> trace_gradients(const Parameters<Scalar>& parameters, const TokenBatch& tokens, const TokenBatch& source,
                                      std::span<const std::int32_t> targets, const ForwardSettings& settings, std::stop_token stop = {});

}  // namespace attn
