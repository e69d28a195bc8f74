#pragma once
/// The tokens of a vocabulary that contain what was typed.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "app/session/values/facet.hpp"

namespace attn::app {

/// The most tokens to list.
inline constexpr std::size_t kMostFoundTokens = 12;

struct FoundTokens {
    std::vector<std::int32_t> ids;  ///< the best match first, see tokens_with()
};

namespace facet {

/// The tokens of the model's vocabulary that contain a text.
struct FoundTokens {
    using Value = app::FoundTokens;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};
    std::string text;
    static Job<Value> make(const FoundTokens&, Ask& ask);
    bool operator==(const FoundTokens&) const = default;
};

}  // namespace facet

}  // namespace attn::app
