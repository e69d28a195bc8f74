#pragma once
/// What attention makes of the masks that are set.

#include <cstdint>

namespace attn {

/// What a mask lets attend.
enum class MaskRule : std::uint8_t {
    Right,
    Inverted,          ///< exactly what should not
    Missing,           ///< everything
    LeaksOne,          ///< causal: one position of the future too
    MasksSelf,         ///< causal: only what is before the position itself
    PaddingOnQueries,  ///< padded queries attend nowhere, padded keys are seen
};

}  // namespace attn
