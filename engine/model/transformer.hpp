#pragma once
/// The forward pass of a whole model.

#include <memory>
#include <stop_token>

#include "engine/trace/tap.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// Runs the model over `tokens` (and `source` for an encoder-decoder) and returns every stage.
/// Throws ConfigError for settings that cannot work (also a sequence longer than context_length), ShapeError for a batch
/// whose sizes disagree, Error for a token id outside the vocabulary, Cancelled once `stop` is requested.
/// The result does not depend on the number of threads.
template <class Scalar>
Trace<Scalar> trace_forward(std::shared_ptr<const Parameters<Scalar>> parameters, const TokenBatch& tokens, const TokenBatch& source,
                            const ForwardSettings& settings, std::stop_token stop = {});

}  // namespace attn
