#pragma once
/// The tokens whose embeddings point in nearly the same direction as that of one token.

#include <cstdint>
#include <string>
#include <vector>

namespace attn::app {

struct NearToken {
    std::int32_t id = 0;
    std::string text;
    double cosine = 0;
};

struct NearTokens {
    std::vector<NearToken> nearest;  ///< nearest first; empty if the token's own embedding is 0 or not finite
};

/// The most tokens to list.
inline constexpr std::size_t kMostNearTokens = 5;

}  // namespace attn::app
