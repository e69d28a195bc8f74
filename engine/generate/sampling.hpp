#pragma once
/// The sampler: which of a model's predicted tokens can be drawn, and with what probability.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attn {

/// The cuts apply in the order of their fields, each to what the previous one left.
struct SamplingSettings {
    double temperature = 1;    ///< 0: always the likeliest token
    std::int64_t top_k = 0;    ///< only the k likeliest; 0 = all
    double top_p = 1;          ///< nucleus: the likeliest of those that together reach this share (Holtzman et al., 2020); 1 = all
    double min_p = 0;          ///< of those, tokens at least this share as likely as the likeliest (Nguyen et al., 2024); 0 = all
    std::int64_t tokens = 40;  ///< how many to generate
    std::uint64_t seed = 1;
    bool operator==(const SamplingSettings&) const = default;
};

inline constexpr std::int64_t kMaxSampledTokens = 1'000'000;
/// Throws ConfigError for settings out of range: a negative temperature or top_k, top_p outside (0, 1], min_p outside [0, 1], too many
/// tokens.
void require_sampling(const SamplingSettings& settings);

/// Why a token cannot be drawn.
enum class Cut : std::uint8_t {
    None,  ///< can be drawn
    TopK,
    TopP,
    MinP,
    Temperature,  ///< probability 0 at this temperature; at temperature 0 all but the likeliest
};

/// A possible next token.
struct Candidate {
    std::int32_t id = 0;
    double predicted = 0;  ///< probability predicted by the model: at temperature 1, before any cut
    double heated = 0;     ///< probability at the sampler's temperature, before any cut
    double chance = 0;     ///< probability of being drawn; 0 if cut
    Cut cut = Cut::None;
    bool operator==(const Candidate&) const = default;
};

struct Candidates {
    std::vector<Candidate> likeliest;  ///< likeliest first; of equal ones the smaller id first
    std::int64_t kept = 0;             ///< how many tokens can be drawn, listed in `likeliest` or not
    double kept_share = 0;             ///< their total probability before the cuts
    Cut first_cut = Cut::None;         ///< why the likeliest excluded token is excluded; None: all can be drawn
};

/// The `most` likeliest tokens for `logits` [V], and what the sampler does to them. Throws like sampling_distribution().
Candidates candidates_of(std::span<const float> logits, const SamplingSettings& settings, std::size_t most);

/// The model's own probabilities for `logits` [V]: softmax at temperature 1. Throws Error like sampling_distribution().
std::vector<double> predicted_shares(std::span<const float> logits);

/// The probabilities to draw from for `logits` [V]: softmax at the temperature, cut tokens 0, the rest renormalised. Ties at the edge of a
/// cut, and at temperature 0, go to the smaller id. Throws ConfigError for settings out of range, Error for a logit that is NaN or +inf
/// (-inf means probability 0).
std::vector<double> sampling_distribution(std::span<const float> logits, const SamplingSettings& settings);

}  // namespace attn
