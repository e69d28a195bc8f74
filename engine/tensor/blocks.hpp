#pragma once
/// Block-quantized weights: numbers packed in blocks that share a scale, as ggml stores them.
/// Layouts: https://github.com/ggml-org/ggml, src/ggml-common.h; decoding: src/ggml-quants.c, dequantize_row_*.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engine/tensor/number_kind.hpp"

namespace attn {

/// The digit after Q is the number of bits per weight. The _K kinds ("k-quants") also quantize the scales of their groups.
/// In the table d is the block's scale and m its minimum, both half precision, q the stored integer, and f and g the group's integer
/// factors.
///   Q4_0   32 numbers in 18 bytes      d (q - 8)
///   Q4_1   32 numbers in 20 bytes      d q + m
///   Q5_0   32 numbers in 22 bytes      d (q - 16)
///   Q5_1   32 numbers in 24 bytes      d q + m
///   Q8_0   32 numbers in 34 bytes      d q, q signed
///   Q2_K   256 numbers in 84 bytes     d f q - m g       16 groups, 4-bit f and g
///   Q3_K   256 numbers in 110 bytes    d f (q - 4)       16 groups, 6-bit f, signed
///   Q4_K   256 numbers in 144 bytes    d f q - m g       8 groups, 6-bit f and g
///   Q5_K   256 numbers in 176 bytes    d f q - m g       8 groups, 6-bit f and g
///   Q6_K   256 numbers in 210 bytes    d f (q - 32)      16 groups, 8-bit f, signed
enum class BlockKind : std::uint8_t { Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K };

struct BlockFormat {
    std::string_view name;        ///< "Q4_K"
    std::int64_t numbers, bytes;  ///< of one block
    std::int64_t group;           ///< how many numbers share one scale
};
const BlockFormat& block_format(BlockKind kind);
/// The NumberKind stored in this layout, and the reverse; nullopt for kinds that are not block-quantized.
NumberKind packed_numbers(BlockKind kind);
std::optional<BlockKind> block_kind(NumberKind kind);

/// How one number is stored: it is scale * factor * quantum - least * least_factor, in float.
struct BlockNumber {
    std::int64_t block = 0;  ///< index of its block, counted from the first byte given
    std::int64_t place = 0;  ///< index within the block
    std::int64_t group = 0;  ///< index of its group within the block
    float scale = 0;         ///< of the block
    int factor = 1;          ///< the group's multiple of scale; 1 where a block has a single scale
    int quantum = 0;         ///< the stored integer, centred on 0 in symmetric kinds
    float least = 0;         ///< the block's minimum; Q4_1 and Q5_1 store it negated
    int least_factor = 0;    ///< the group's multiple of least; 0 in kinds without a minimum

    float value() const;
};
/// The number at `index` in consecutive blocks. Not checked: the blocks must contain it.
BlockNumber block_number(BlockKind kind, const std::byte* blocks, std::int64_t index);

/// Dequantizes out.size() numbers starting at index `first`, which need not be a block boundary. Bit-identical to ggml's floats.
void expand_blocks(BlockKind kind, const std::byte* blocks, std::int64_t first, std::span<float> out);

/// Index of the first of `count` blocks whose scale or minimum is infinite or NaN; nullopt if all are finite.
std::optional<std::int64_t> find_block_without_scale(BlockKind kind, const std::byte* blocks, std::int64_t count);

}  // namespace attn
