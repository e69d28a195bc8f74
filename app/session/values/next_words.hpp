#pragma once
/// The likeliest next tokens, or the likeliest ones for a hidden word.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/session/values/facet.hpp"
#include "engine/generate/sampling.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

struct Snapshot;

struct NextWord {
    std::int32_t id = 0;
    std::string text;
    double probability = 0;  ///< at the sampler's temperature, before truncation
    double predicted = 0;    ///< the model's probability, at temperature 1
    double chance = 0;       ///< of being drawn; 0 if truncated by the sampler
    Cut cut = Cut::None;     ///< why it is truncated
};

struct NextWords {
    std::vector<NextWord> likeliest;  ///< likeliest first, without special tokens
    std::int64_t others = 0;          ///< how many tokens are not listed
    double rest = 0;                  ///< their total probability
    std::int64_t kept = 0;            ///< how many tokens can be drawn, listed or not
    double kept_share = 1;            ///< their total probability
    Cut first_cut = Cut::None;        ///< why the likeliest unlisted token is truncated; None: it is not
};

/// The most tokens to list.
inline constexpr std::size_t kMostNextWords = 32;

/// The logits [V] at a position; an outline holds none, so there they are computed from its residual stream. Throws Error without it.
std::vector<float> logits_at(const Trace<float>& trace, std::int64_t sequence, std::int64_t position);

/// The tokens that may follow the one at `position` of the sequence, the last one by default, or in an encoder replace it, at the sampler's
/// temperature (clamped from below, since 0 would give everything to the first). Throws Error for a model without such predictions, an
/// empty text, and a position outside it.
NextWords next_words(const Snapshot& snapshot, std::int64_t sequence, const SamplingSettings& sampling,
                     std::optional<std::int64_t> position = {});

namespace facet {

/// The candidates for the token after `position`, or in an encoder for the token there, and how the sampler treats them. The sampler's
/// seed and number of tokens are ignored.
struct NextWords {
    using Value = app::NextWords;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt, .runs_model = true, .leaves_no_hole = true};
    std::int64_t sequence = 0;
    SamplingSettings sampling{};
    std::optional<std::int64_t> position{};  ///< none: after the whole sequence, not for encoders
    static Job<Value> make(const NextWords&, Ask& ask);
    bool operator==(const NextWords&) const = default;
};

}  // namespace facet

}  // namespace attn::app
