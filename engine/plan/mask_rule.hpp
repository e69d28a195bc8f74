#pragma once
/// How attention interprets its mask: correctly, or with a mistake made on purpose.

#include <cstdint>

namespace attn {

/// Which cells may attend under a mask.
enum class MaskRule : std::uint8_t {
    Right,
    Inverted,          ///< exactly the forbidden ones
    Missing,           ///< all
    LeaksOne,          ///< causal masks also allow the next position
    MasksSelf,         ///< causal masks forbid the position itself
    PaddingOnQueries,  ///< padded queries attend nowhere, padded keys are seen
};

}  // namespace attn
