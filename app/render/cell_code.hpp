#pragma once
/// The 32-bit code of a cell in a heatmap's texture.
///
/// 0 is a masked cell; anything else is 1 + the float's bits turned left by one, so that the sign is the lowest bit. Codes of larger
/// magnitude are then larger integers, infinity is above every number, NaN above infinity and masked below 0: the code that stands
/// for a block of cells is simply the largest one, on the CPU and in the shader.

#include <bit>
#include <cstdint>

namespace attn::app {

inline constexpr std::uint32_t kMaskedCell = 0;

/// One code for every NaN.
inline constexpr std::uint32_t kNanCell = 0xFF800001;

/// Without branches, so that a loop over it is vectorised.
inline std::uint32_t cell_code(float v) {
    const auto bits = std::bit_cast<std::uint32_t>(v);
    return (bits & 0x7FFFFFFFU) > 0x7F800000U ? kNanCell : std::rotl(bits, 1) + 1U;
}

/// `code` is not kMaskedCell.
inline float cell_value(std::uint32_t code) { return std::bit_cast<float>(std::rotr(code - 1U, 1)); }

}  // namespace attn::app
