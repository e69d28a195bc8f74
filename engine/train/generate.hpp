#pragma once
/// Writing on: tokens drawn one after the other from what a model predicts.

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/model/parameters.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

struct SamplingSettings {
    double temperature = 1;    ///< 0: always the likeliest token
    std::int64_t top_k = 0;    ///< only the k likeliest; 0 = all
    double top_p = 1;          ///< only the likeliest that together reach p (Holtzman et al., 2020)
    std::int64_t tokens = 40;  ///< to write
    std::uint64_t seed = 1;
    bool operator==(const SamplingSettings&) const = default;
};

/// Probabilities that are drawn from for `logits` [V]: softmax at the temperature, what is cut off 0, the rest renormalised.
/// Ties at the border of top_k go to the smaller id. Throws ConfigError for settings out of range.
std::vector<double> sampling_distribution(std::span<const float> logits, const SamplingSettings& settings);

/// Continues `prompt` (at least one id) token by token; beyond the context length the oldest tokens are left out.
/// Same parameters, prompt and settings, same tokens, with any number of threads. `each` (may be empty) sees every token as it is drawn.
/// Throws ConfigError for a model that cannot write (an encoder, one without a head), Error for an id outside the vocabulary,
/// Cancelled once `stop` is requested.
std::vector<std::int32_t> generate(const Parameters<float>& parameters, std::span<const std::int32_t> prompt,
                                   const ForwardSettings& settings, const SamplingSettings& sampling,
                                   const std::function<void(std::int32_t)>& each = {}, std::stop_token stop = {});

}  // namespace attn
