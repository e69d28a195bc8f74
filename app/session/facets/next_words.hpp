#pragma once
/// The words that a model thinks likeliest to come next, or where one is hidden.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/generate/sampling.hpp"

namespace attn::app {

struct Snapshot;

struct NextWord {
    std::int32_t id = 0;
    std::string text;
    double probability = 0;  ///< at the sampler's temperature, before its cuts
    double predicted = 0;    ///< by the model, at temperature 1
    double chance = 0;       ///< of being drawn: 0 for what the sampler cuts off
    Cut cut = Cut::None;     ///< why
};

struct NextWords {
    std::vector<NextWord> likeliest;  ///< the likeliest first; special tokens are left out
    std::int64_t others = 0;          ///< how many there are besides
    double rest = 0;                  ///< their probability together
    std::int64_t kept = 0;            ///< how many of all can be drawn
    double kept_share = 1;            ///< their probability together
    Cut first_cut = Cut::None;        ///< why the likeliest of the others cannot; None: all can
};

/// How many are named at most.
inline constexpr std::size_t kMostNextWords = 32;

/// After the last token of this sequence, or of an encoder in the place of that at `position`, at the sampler's temperature (from a small
/// one up: 0 is all for the first). Throws Error for a model that predicts no such token, and for a text without one.
NextWords next_words(const Snapshot& snapshot, std::int64_t sequence, const SamplingSettings& sampling,
                     std::optional<std::int64_t> position = {});

}  // namespace attn::app
