#pragma once
/// Writing on: tokens drawn one after the other from what a model predicts.

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/model/cached_pass.hpp"
#include "engine/tensor/token_batch.hpp"
#include "engine/trace/trace.hpp"
#include "engine/train/sampling.hpp"
#include "engine/weights/parameters.hpp"

namespace attn {

/// What is written on.
struct Prompt {
    std::span<const std::int32_t> text;         ///< at least one id
    std::span<const std::int32_t> source = {};  ///< of an encoder-decoder: what its encoder reads, at least one id
    std::span<const std::int32_t> ends = {};    ///< writing ends with any of these tokens
    std::uint64_t drawn = 0;  ///< so many random numbers have been used for the end of the text: what is written goes on as if at one go
};

/// A token that was drawn.
struct DrawnToken {
    std::int32_t id = 0;
    // Both [V], and valid while it is told:
    std::span<const float> logits;    ///< that were predicted
    std::span<const double> chances;  ///< that it was drawn by: those of sampling_distribution()
};

/// What one call of generate() leaves to the next: texts that begin alike under the same settings are computed on from where they part.
struct KeptText {
    const Parameters<float>* parameters = nullptr;  ///< whose keys and values they are: kept alive, or never asked for again
    ForwardSettings settings;
    TextCache<float> cache;
};

/// Continues the prompt's text token by token, without dropout; beyond the context length the oldest tokens are left out.
/// Same parameters, prompt and settings, same tokens, with any number of threads and whatever is `kept` (may be null), which becomes what
/// is known of the text when this returns or throws. `each` (may be empty) sees every token as it is drawn. Throws ConfigError for a model
/// that cannot write (an encoder, one without a head) and a source longer than the context, Error for no text, no source where the model
/// reads one, an id outside the vocabulary and for logits that nothing can be drawn from, Cancelled once `stop` is requested.
std::vector<std::int32_t> generate(const Parameters<float>& parameters, const Prompt& prompt, const ForwardSettings& settings,
                                   const SamplingSettings& sampling, const std::function<void(const DrawnToken&)>& each = {},
                                   std::stop_token stop = {}, KeptText* kept = nullptr);

/// The one sequence `text` with every `blank` in it replaced by what an encoder with a head predicts there, each drawn by itself from one
/// pass, without dropout. Throws ConfigError for another model, Error for a text without a blank and as generate() does.
std::vector<std::int32_t> fill_in(const Parameters<float>& parameters, const TokenBatch& text, std::int32_t blank,
                                  const ForwardSettings& settings, const SamplingSettings& sampling, std::stop_token stop = {});

}  // namespace attn
