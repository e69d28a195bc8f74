#pragma once
/// A generated continuation of the first sequence; for an encoder-decoder, the answer to the first source.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/session/states/token.hpp"
#include "app/session/values/facet.hpp"
#include "engine/generate/sampling.hpp"

namespace attn::app {

struct Sample {
    std::optional<std::int64_t> trained_step;  ///< the step of the training run whose model generated it
    std::string text;                          ///< without the prompt
    std::vector<Token> tokens;
};

namespace facet {

/// A continuation of the first sequence; causal models with an output head only.
struct Sample {
    using Value = app::Sample;
    static constexpr FacetInfo kInfo{.pause = std::chrono::milliseconds(250), .share = 8, .runs_model = true};
    SamplingSettings sampling;
    static Job<Value> make(const Sample&, Ask& ask);
    bool operator==(const Sample&) const = default;
};

}  // namespace facet

}  // namespace attn::app
