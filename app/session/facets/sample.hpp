#pragma once
/// A generated continuation of the first sequence; for an encoder-decoder, the answer to the first source.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/session/states/token.hpp"

namespace attn::app {

struct Sample {
    std::optional<std::int64_t> trained_step;  ///< the step of the training run whose model generated it
    std::string text;                          ///< without the prompt
    std::vector<Token> tokens;
};

}  // namespace attn::app
