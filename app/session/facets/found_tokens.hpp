#pragma once
/// The tokens of a vocabulary that contain what was typed.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace attn::app {

/// The most tokens to list.
inline constexpr std::size_t kMostFoundTokens = 12;

struct FoundTokens {
    std::vector<std::int32_t> ids;  ///< the best match first, see tokens_with()
};

}  // namespace attn::app
