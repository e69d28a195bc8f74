#pragma once
/// The tokens whose embeddings point in nearly the same direction as that of one token.

#include <cstdint>
#include <string>
#include <vector>

#include "app/session/values/facet.hpp"

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

namespace facet {

/// The tokens nearest to one by the direction of their embeddings, in the table that a stack reads.
struct NearTokens {
    using Value = app::NearTokens;
    static constexpr FacetInfo kInfo{.runs_model = true};
    Stack stack = Stack::Main;
    std::int32_t id = 0;
    static Job<Value> make(const NearTokens&, Ask& ask);
    bool operator==(const NearTokens&) const = default;
};

}  // namespace facet

}  // namespace attn::app
