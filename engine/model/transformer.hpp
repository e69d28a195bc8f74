#pragma once
/// Every number of a model for one text: values, and gradients of the loss.

#include <memory>
#include <span>
#include <stop_token>

#include "engine/trace/gradient_trace.hpp"
#include "engine/trace/tap.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// A trace of these inputs without stages.
template <class Scalar>
Trace<Scalar> unrecorded_trace(std::shared_ptr<const Parameters<Scalar>> parameters, const TokenBatch& tokens, const TokenBatch& source,
                               const ForwardSettings& settings);

/// Runs the model over `tokens` (and `source` for an encoder-decoder) and returns every stage; `each` (may be empty) sees them as they are
/// computed.
/// Throws ConfigError for settings that cannot work (also a sequence longer than context_length), ShapeError for a batch
/// whose sizes disagree, Error for a token id outside the vocabulary, Cancelled once `stop` is requested.
/// The result does not depend on the number of threads.
template <class Scalar>
Trace<Scalar> trace_forward(std::shared_ptr<const Parameters<Scalar>> parameters, const TokenBatch& tokens, const TokenBatch& source,
                            const ForwardSettings& settings, std::stop_token stop = {}, const StageObserver<Scalar>& each = {});

/// Runs the model forward and backward for the mean cross-entropy of `targets` [B,T], kIgnoredTarget where nothing is to be predicted.
/// Throws as trace_forward() does, ShapeError for another number of targets, Error for one outside the vocabulary, ConfigError for a
/// model without a head.
template <class Scalar>
GradientTrace<Scalar> trace_gradients(const Parameters<Scalar>& parameters, const TokenBatch& tokens, const TokenBatch& source,
                                      std::span<const std::int32_t> targets, const ForwardSettings& settings, std::stop_token stop = {});

}  // namespace attn
