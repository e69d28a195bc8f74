#pragma once
/// Text generation: draws tokens one after another from a model's predictions.

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/generate/sampling.hpp"
#include "engine/model/cached_pass.hpp"
#include "engine/tensor/token_batch.hpp"
#include "engine/trace/trace.hpp"
#include "engine/weights/parameters.hpp"

namespace attn {

/// The text to continue.
struct Prompt {
    std::span<const std::int32_t> text;         ///< at least one id
    std::span<const std::int32_t> source = {};  ///< an encoder-decoder's source: at least one id
    std::span<const std::int32_t> ends = {};    ///< generation stops at any of these tokens
    std::uint64_t drawn =
        0;  ///< random numbers already used for the end of the text, so that continuing gives the same tokens as a single call
};

/// A token that was drawn.
struct DrawnToken {
    std::int32_t id = 0;
    // Both [V], and valid during the callback only:
    std::span<const float> logits;    ///< as predicted
    std::span<const double> chances;  ///< the probabilities it was drawn with, see sampling_distribution()
};

/// State kept between calls of generate(): a text with the same beginning under the same settings is computed only from where they differ.
struct KeptText {
    const Parameters<float>* parameters = nullptr;  ///< owner of the cache; must stay alive as long as this is used
    ForwardSettings settings;
    TextCache<float> cache;
};

/// Continues the prompt's text token by token, without dropout; beyond the context length the oldest tokens are dropped. The same
/// parameters, prompt and settings give the same tokens, whatever the number of threads and the contents of `kept`. `kept` may be null; it
/// is updated on return and on exceptions. `each` sees every token as it is drawn and may be empty. Throws ConfigError for a model that
/// cannot generate (an encoder, or one without an output head) and for a source longer than the context, Error for an empty text or missing
/// source, an id outside the vocabulary, or logits that cannot be sampled from, Cancelled once `stop` is requested.
std::vector<std::int32_t> generate(const Parameters<float>& parameters, const Prompt& prompt, const ForwardSettings& settings,
                                   const SamplingSettings& sampling, const std::function<void(const DrawnToken&)>& each = {},
                                   std::stop_token stop = {}, KeptText* kept = nullptr);

/// The single sequence `text` with every `blank` replaced by the prediction of an encoder with an output head; all are drawn independently
/// from one pass, without dropout. `each` is called for every blank, in order. Throws ConfigError for any other model, Error for a text
/// without a blank, and like generate().
std::vector<std::int32_t> fill_in(const Parameters<float>& parameters, const TokenBatch& text, std::int32_t blank,
                                  const ForwardSettings& settings, const SamplingSettings& sampling,
                                  const std::function<void(const DrawnToken&)>& each = {}, std::stop_token stop = {});

}  // namespace attn
