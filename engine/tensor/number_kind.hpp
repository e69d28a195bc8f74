#pragma once
/// How a number is stored, and in how many bytes.

#include <cstdint>

namespace attn {

/// Plain numbers and block-quantized ones (engine/tensor/blocks.hpp).
enum class NumberKind : std::uint8_t { F32, F64, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K };

/// Numbers and bytes in a block; kinds that are not packed have one number per block.
struct BlockSize {
    std::int64_t numbers, bytes;
};
/// In the order of NumberKind.
inline constexpr BlockSize kBlockSizes[] = {{1, 4},   {1, 8},   {1, 2},    {1, 2},     {32, 18},   {32, 20},   {32, 22},
                                            {32, 24}, {32, 34}, {256, 84}, {256, 110}, {256, 144}, {256, 176}, {256, 210}};
constexpr BlockSize block_size(NumberKind kind) { return kBlockSizes[static_cast<int>(kind)]; }
static_assert(block_size(NumberKind::Q4_0).bytes == 18 && block_size(NumberKind::Q6_K).bytes == 210,
              "the table is in the order of NumberKind");

}  // namespace attn
