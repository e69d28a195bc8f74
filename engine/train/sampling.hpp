#pragma once
/// The sampler: which of the tokens that a model predicts can be drawn, and how likely each of them is.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attn {

/// The cuts are made in the order in which they stand here, each of what the one before it left.
struct SamplingSettings {
    double temperature = 1;    ///< 0: always the likeliest token
    std::int64_t top_k = 0;    ///< only the k likeliest; 0 = all
    double top_p = 1;          ///< of those only the likeliest that together reach this share (Holtzman et al., 2020); 1 = all
    double min_p = 0;          ///< of those only what is at least this share as likely as the likeliest (Nguyen et al., 2024); 0 = all
    std::int64_t tokens = 40;  ///< to write
    std::uint64_t seed = 1;
    bool operator==(const SamplingSettings&) const = default;
};

inline constexpr std::int64_t kMaxSampledTokens = 1'000'000;
/// Throws ConfigError for settings out of range: a negative temperature or top_k, top_p outside (0, 1], min_p outside [0, 1], too many
/// tokens.
void require_sampling(const SamplingSettings& settings);

/// Why a token cannot be drawn.
enum class Cut : std::uint8_t {
    None,  ///< it can
    TopK,
    TopP,
    MinP,
    Temperature,  ///< nothing is left of its chance: at temperature 0 of all but the likeliest
};

/// A token that may come next.
struct Candidate {
    std::int32_t id = 0;
    double predicted = 0;  ///< by the model: at temperature 1, before any cut
    double heated = 0;     ///< at the sampler's temperature, before any cut
    double chance = 0;     ///< of being drawn: 0 for what is cut off
    Cut cut = Cut::None;
    bool operator==(const Candidate&) const = default;
};

struct Candidates {
    std::vector<Candidate> likeliest;  ///< the likeliest first, of equal ones the smaller id
    std::int64_t kept = 0;             ///< how many can be drawn, named in `likeliest` or not
    double kept_share = 0;             ///< what they had of all chance before the cuts
    Cut first_cut = Cut::None;         ///< why the likeliest of those that are cut off is; None: all can be drawn
};

/// The `most` likeliest tokens after `logits` [V], and what the sampler does to them. Throws as sampling_distribution() does.
Candidates candidates_of(std::span<const float> logits, const SamplingSettings& settings, std::size_t most);

/// How likely the model finds every token after `logits` [V]: softmax at temperature 1. Throws Error as sampling_distribution() does.
std::vector<double> predicted_shares(std::span<const float> logits);

/// Probabilities that are drawn from for `logits` [V]: softmax at the temperature, what is cut off 0, the rest renormalised.
/// Ties at the border of a cut, and at temperature 0, go to the smaller id. Throws ConfigError for settings out of range,
/// Error for a logit that is NaN or infinite (-inf is a probability of 0).
std::vector<double> sampling_distribution(std::span<const float> logits, const SamplingSettings& settings);

}  // namespace attn
