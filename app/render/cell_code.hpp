#pragma once
/// The 32-bit code of a cell in a heatmap's texture.
///
/// 0 is a masked cell; any other code is 1 + the float's bits rotated left by one, which makes the sign the lowest bit. Codes then sort by
/// magnitude: infinity above every number, NaN above infinity, masked below 0. The code that represents a block of cells is therefore
/// simply the largest one, both on the CPU and in the shader.

#include <bit>
#include <cstdint>

namespace attn::app {

inline constexpr std::uint32_t kMaskedCell = 0;

/// All NaNs share one code.
inline constexpr std::uint32_t kNanCell = 0xFF800001;

/// Branch-free, so that loops over it are vectorised.
inline std::uint32_t cell_code(float v) {
    const auto bits = std::bit_cast<std::uint32_t>(v);
    return (bits & 0x7FFFFFFFU) > 0x7F800000U ? kNanCell : std::rotl(bits, 1) + 1U;
}

}  // namespace attn::app
