#include "engine/tensor/blocks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "engine/tensor/matrix_view.hpp"

namespace attn {
namespace {

constexpr BlockFormat format_of(std::string_view name, NumberKind kind, std::int64_t group) {
    return {name, block_size(kind).numbers, block_size(kind).bytes, group};
}
constexpr std::array<BlockFormat, 10> kBlockFormats = {{format_of("Q4_0", NumberKind::Q4_0, 32), format_of("Q4_1", NumberKind::Q4_1, 32),
                                                        format_of("Q5_0", NumberKind::Q5_0, 32), format_of("Q5_1", NumberKind::Q5_1, 32),
                                                        format_of("Q8_0", NumberKind::Q8_0, 32), format_of("Q2_K", NumberKind::Q2_K, 16),
                                                        format_of("Q3_K", NumberKind::Q3_K, 16), format_of("Q4_K", NumberKind::Q4_K, 32),
                                                        format_of("Q5_K", NumberKind::Q5_K, 32), format_of("Q6_K", NumberKind::Q6_K, 16)}};

float half_at(const std::byte* from) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, from, sizeof bits);
    return widen_f16(bits);
}

int byte_at(const std::byte* from, std::int64_t i) { return std::to_integer<int>(from[i]); }
/// The 4-bit number in the low (half = 0) or high (half = 1) bits of a byte.
int nibble(const std::byte* from, std::int64_t byte, std::int64_t half) { return byte_at(from, byte) >> (4 * half) & 15; }

/// Byte offsets of a block's two half-precision fields, its scale and its minimum; -1 where the kind has no minimum.
struct ScalePlaces {
    std::int64_t scale, least;
};
ScalePlaces scale_places(BlockKind kind) {
    switch (kind) {
    case BlockKind::Q4_1:
    case BlockKind::Q5_1:
    case BlockKind::Q4_K:
    case BlockKind::Q5_K:
        return {0, 2};
    case BlockKind::Q2_K:
        return {80, 82};
    case BlockKind::Q3_K:
        return {108, -1};
    case BlockKind::Q6_K:
        return {208, -1};
    default:
        return {0, -1};
    }
}

/// Unpacks the 6-bit scale and minimum of `group` from the 12 bytes in which Q4_K and Q5_K keep eight of each.
void read_packed_pair(const std::byte* packed, std::int64_t group, BlockNumber& out) {
    if (group < 4) {
        out.factor = byte_at(packed, group) & 63;
        out.least_factor = byte_at(packed, group + 4) & 63;
    } else {
        out.factor = nibble(packed, group + 4, 0) | byte_at(packed, group - 4) >> 6 << 4;
        out.least_factor = nibble(packed, group + 4, 1) | byte_at(packed, group) >> 6 << 4;
    }
}

/// Fills in the scale factor and minimum factor of the number's group.
void read_group(BlockKind kind, const std::byte* block, BlockNumber& out) {
    const std::int64_t g = out.group;
    switch (kind) {
    case BlockKind::Q4_1:
    case BlockKind::Q5_1:
        out.least_factor = -1;
        break;
    case BlockKind::Q2_K:
        out.factor = nibble(block, g, 0);
        out.least_factor = nibble(block, g, 1);
        break;
    case BlockKind::Q3_K: {
        const std::byte* const packed = block + 96;
        out.factor = (nibble(packed, g % 8, g / 8) | (byte_at(packed, 8 + g % 4) >> (2 * (g / 4)) & 3) << 4) - 32;
        break;
    }
    case BlockKind::Q4_K:
    case BlockKind::Q5_K:
        read_packed_pair(block + 4, g, out);
        break;
    case BlockKind::Q6_K:
        out.factor = static_cast<std::int8_t>(byte_at(block + 192, g));
        break;
    default:
        break;
    }
}

/// Blocks of 32: byte j holds number j in its low four bits and number j + 16 in its high four.
int small_quantum(const std::byte* block, std::int64_t place, std::int64_t fifth_bits, std::int64_t bytes) {
    const std::int64_t half = place / 16, j = place % 16;
    int quantum = nibble(block + bytes, j, half);
    if (fifth_bits > 0) quantum |= (byte_at(block + fifth_bits, place / 8) >> (place % 8) & 1) << 4;
    return quantum;
}

int quantum_at(BlockKind kind, const std::byte* block, std::int64_t place) {
    const std::int64_t half = place / 128, l = place % 32, quarter = place % 128 / 32;  // blocks of 256 only
    switch (kind) {
    case BlockKind::Q4_0:
        return small_quantum(block, place, 0, 2) - 8;
    case BlockKind::Q4_1:
        return small_quantum(block, place, 0, 4);
    case BlockKind::Q5_0:
        return small_quantum(block, place, 2, 6) - 16;
    case BlockKind::Q5_1:
        return small_quantum(block, place, 4, 8);
    case BlockKind::Q8_0:
        return static_cast<std::int8_t>(byte_at(block + 2, place));
    case BlockKind::Q2_K:
        return byte_at(block + 16, half * 32 + l) >> (2 * quarter) & 3;
    case BlockKind::Q3_K: {
        const int high = byte_at(block, l) >> (place / 32) & 1;
        return (byte_at(block + 32, half * 32 + l) >> (2 * quarter) & 3) - (high == 1 ? 0 : 4);
    }
    case BlockKind::Q4_K:
        return nibble(block + 16, place / 64 * 32 + l, place / 32 % 2);
    case BlockKind::Q5_K:
        return nibble(block + 48, place / 64 * 32 + l, place / 32 % 2) | (byte_at(block + 16, l) >> (place / 32) & 1) << 4;
    case BlockKind::Q6_K: {
        const int low = nibble(block, half * 64 + quarter % 2 * 32 + l, quarter / 2);
        return (low | (byte_at(block + 128, half * 32 + l) >> (2 * quarter) & 3) << 4) - 32;
    }
    }
    return 0;
}

/// Everything but the quantum, for the group that `place` is in.
BlockNumber group_of(BlockKind kind, const std::byte* block, std::int64_t place) {
    BlockNumber out;
    out.place = place;
    out.group = place / block_format(kind).group;
    const ScalePlaces at = scale_places(kind);
    out.scale = half_at(block + at.scale);
    if (at.least >= 0) out.least = half_at(block + at.least);
    read_group(kind, block, out);
    return out;
}

template <BlockKind kKind>
void expand(const std::byte* blocks, std::int64_t first, std::span<float> out) {
    const BlockFormat& format = block_format(kKind);
    const auto count = static_cast<std::int64_t>(out.size());
    for (std::int64_t i = 0; i < count;) {
        const std::int64_t index = first + i, place = index % format.numbers;
        const std::byte* const block = blocks + index / format.numbers * format.bytes;
        BlockNumber number = group_of(kKind, block, place);
        const std::int64_t run = std::min(format.group - place % format.group, count - i);
        for (std::int64_t j = 0; j < run; ++j) {
            number.quantum = quantum_at(kKind, block, place + j);
            out[static_cast<std::size_t>(i + j)] = number.value();
        }
        i += run;
    }
}

}  // namespace

const BlockFormat& block_format(BlockKind kind) { return kBlockFormats[static_cast<std::size_t>(kind)]; }

// The packed NumberKinds are in the order of BlockKind.
NumberKind packed_numbers(BlockKind kind) { return static_cast<NumberKind>(static_cast<int>(NumberKind::Q4_0) + static_cast<int>(kind)); }

std::optional<BlockKind> block_kind(NumberKind kind) {
    if (kind < NumberKind::Q4_0) return std::nullopt;
    return static_cast<BlockKind>(static_cast<int>(kind) - static_cast<int>(NumberKind::Q4_0));
}

// Every product fits a float exactly except Q6_K's, so the result is rounded once whatever the order of evaluation.
float BlockNumber::value() const {
    return scale * static_cast<float>(factor) * static_cast<float>(quantum) - least * static_cast<float>(least_factor);
}

BlockNumber block_number(BlockKind kind, const std::byte* blocks, std::int64_t index) {
    const BlockFormat& format = block_format(kind);
    const std::byte* const block = blocks + index / format.numbers * format.bytes;
    BlockNumber out = group_of(kind, block, index % format.numbers);
    out.block = index / format.numbers;
    out.quantum = quantum_at(kind, block, out.place);
    return out;
}

void expand_blocks(BlockKind kind, const std::byte* blocks, std::int64_t first, std::span<float> out) {
    switch (kind) {
    case BlockKind::Q4_0:
        return expand<BlockKind::Q4_0>(blocks, first, out);
    case BlockKind::Q4_1:
        return expand<BlockKind::Q4_1>(blocks, first, out);
    case BlockKind::Q5_0:
        return expand<BlockKind::Q5_0>(blocks, first, out);
    case BlockKind::Q5_1:
        return expand<BlockKind::Q5_1>(blocks, first, out);
    case BlockKind::Q8_0:
        return expand<BlockKind::Q8_0>(blocks, first, out);
    case BlockKind::Q2_K:
        return expand<BlockKind::Q2_K>(blocks, first, out);
    case BlockKind::Q3_K:
        return expand<BlockKind::Q3_K>(blocks, first, out);
    case BlockKind::Q4_K:
        return expand<BlockKind::Q4_K>(blocks, first, out);
    case BlockKind::Q5_K:
        return expand<BlockKind::Q5_K>(blocks, first, out);
    case BlockKind::Q6_K:
        return expand<BlockKind::Q6_K>(blocks, first, out);
    }
}

std::optional<std::int64_t> find_block_without_scale(BlockKind kind, const std::byte* blocks, std::int64_t count) {
    const std::int64_t bytes = block_format(kind).bytes;
    const ScalePlaces at = scale_places(kind);
    for (std::int64_t i = 0; i < count; ++i) {
        const std::byte* const block = blocks + i * bytes;
        if (!std::isfinite(half_at(block + at.scale)) || (at.least >= 0 && !std::isfinite(half_at(block + at.least)))) return i;
    }
    return std::nullopt;
}

}  // namespace attn
