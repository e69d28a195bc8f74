#pragma once
/// Writing on: tokens drawn one after the other from what a model predicts.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/trace/trace.hpp"
#include "engine/weights/parameters.hpp"

namespace attn {

struct SamplingSettings {
    double temperature = 1;    ///< 0: always the likeliest token
    std::int64_t top_k = 0;    ///< only the k likeliest; 0 = all
    double top_p = 1;          ///< of those only the likeliest that together reach this share (Holtzman et al., 2020); 1 = all
    std::int64_t tokens = 40;  ///< to write
    std::uint64_t seed = 1;
    bool operator==(const SamplingSettings&) const = default;
};

/// What is written on.
struct Prompt {
    std::span<const std::int32_t> text;         ///< at least one id
    std::span<const std::int32_t> source = {};  ///< of an encoder-decoder: what its encoder reads, at least one id
    std::optional<std::int32_t> end = {};       ///< writing ends with this token
};

inline constexpr std::int64_t kMaxSampledTokens = 1'000'000;
/// Throws ConfigError for settings out of range: a negative temperature or top_k, top_p outside (0, 1], too many tokens.
void require_sampling(const SamplingSettings& settings);

/// Probabilities that are drawn from for `logits` [V]: softmax at the temperature, what is cut off 0, the rest renormalised.
/// Ties at the border of top_k and top_p, and at temperature 0, go to the smaller id. Throws ConfigError for settings out of range,
/// Error for a logit that is NaN or infinite (-inf is a probability of 0).
std::vector<double> sampling_distribution(std::span<const float> logits, const SamplingSettings& settings);

/// Continues the prompt's text token by token, without dropout; beyond the context length the oldest tokens are left out.
/// Same parameters, prompt and settings, same tokens, with any number of threads. `each` (may be empty) sees every token as it is drawn.
/// Throws ConfigError for a model that cannot write (an encoder, one without a head) and a source longer than the context, Error for no
/// text, no source where the model reads one, an id outside the vocabulary and for logits that nothing can be drawn from, Cancelled once
/// `stop` is requested.
std::vector<std::int32_t> generate(const Parameters<float>& parameters, const Prompt& prompt, const ForwardSettings& settings,
                                   const SamplingSettings& sampling, const std::function<void(std::int32_t)>& each = {},
                                   std::stop_token stop = {});

/// The text with every `blank` in it replaced by what an encoder with a head predicts there, each drawn by itself from one pass, without
/// dropout. Throws ConfigError for another model, Error for a text without a blank and as generate() does.
std::vector<std::int32_t> fill_in(const Parameters<float>& parameters, std::span<const std::int32_t> text, std::int32_t blank,
                                  const ForwardSettings& settings, const SamplingSettings& sampling, std::stop_token stop = {});

}  // namespace attn
