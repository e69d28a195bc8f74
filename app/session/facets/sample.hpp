#pragma once
/// What a model writes on after the first sequence; of an encoder-decoder, what it answers to the first source.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/session/states/token.hpp"

namespace attn::app {

struct Sample {
    std::optional<std::int64_t> trained_step;  ///< the moment that wrote it
    std::string text;                          ///< the continuation alone
    std::vector<Token> tokens;
};

}  // namespace attn::app
