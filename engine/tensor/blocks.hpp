#pragma once
/// Numbers packed in blocks that share a scale, as ggml packs the weights of models.
/// Layouts: https://github.com/ggml-org/ggml, src/ggml-common.h; what they mean: src/ggml-quants.c, dequantize_row_*.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engine/tensor/number_kind.hpp"

namespace attn {

/// The number behind the Q is how many bits each has; _K packs twice, the scales of its groups too.
enum class BlockKind : std::uint8_t { Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K };

struct BlockFormat {
    std::string_view name;        ///< "Q4_K"
    std::int64_t numbers, bytes;  ///< of one block
    std::int64_t group;           ///< so many numbers share one scale
};
const BlockFormat& block_format(BlockKind kind);
/// The kind of number that is packed like this, and the other way round; nothing for single numbers.
NumberKind packed_numbers(BlockKind kind);
std::optional<BlockKind> block_kind(NumberKind kind);

/// How one number is packed: scale * factor * quantum - least * least_factor, in float.
struct BlockNumber {
    std::int64_t block = 0;  ///< which one, counted from the first byte given
    std::int64_t place = 0;  ///< in its block
    std::int64_t group = 0;  ///< of its block
    float scale = 0;         ///< of the whole block
    int factor = 1;          ///< of the group; always 1 where a block has one scale only
    int quantum = 0;         ///< what is multiplied: below 0 too where the block is symmetric
    float least = 0;         ///< of the whole block; Q4_1 and Q5_1 store it with the other sign
    int least_factor = 0;    ///< 0 where nothing is taken away

    float value() const;
};
/// The number at `index` of blocks that lie end to end; the blocks have to hold it.
BlockNumber block_number(BlockKind kind, const std::byte* blocks, std::int64_t index);

/// The numbers from `first` on, as many as `out` holds; neither need begin or end with a block. Each is the float that ggml gets.
void expand_blocks(BlockKind kind, const std::byte* blocks, std::int64_t first, std::span<float> out);

/// The first of `count` blocks whose scale, or what is taken away, is infinite or not a number.
std::optional<std::int64_t> find_block_without_scale(BlockKind kind, const std::byte* blocks, std::int64_t count);

}  // namespace attn
