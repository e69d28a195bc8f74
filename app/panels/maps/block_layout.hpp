#pragma once
/// Lays out the blocks of the model map in a row, and the contents of the open block. Pure geometry in whole pixels, from x = 0.

#include <cstdint>
#include <span>
#include <vector>

#include "app/panels/kit/model_blocks.hpp"

namespace attn::app {

struct Stretch {
    float min = 0, max = 0;
    float width() const { return max - min; }
};

/// The natural and the smallest width of a block and of the gap before it, in pixels.
struct BlockRoom {
    float natural = 0, smallest = 0;
    float gap = 0, smallest_gap = 0;  ///< unused for the first block
};

/// Lays out the blocks from left to right. If all have their natural size, gaps and blocks share the remaining space within limits;
/// otherwise the other blocks shrink before the open one does. The row exceeds `room`, and must scroll, only if the smallest sizes do not
/// fit either.
std::vector<Stretch> lay_out_blocks(std::span<const BlockRoom> blocks, std::size_t open, float room, float scale);

/// An item inside the open block.
struct BlockItem {
    enum class Kind : std::uint8_t { Title, Head, HeadsLabel, Part, Sum };
    Kind kind = Kind::Title;
    std::size_t part = 0;   ///< index of the block's part
    std::int64_t head = 0;  ///< for Kind::Head
    Stretch at;
    bool operator==(const BlockItem& other) const { return kind == other.kind && part == other.part && head == other.head; }
};

/// Widths in pixels of the texts in an open block. It shows a chip for every head, or a single one naming the selected head.
struct OpenBlockRoom {
    float title = 0;              ///< the block's name
    std::vector<float> labels{};  ///< the name of each part
    float chosen = 0;             ///< a text such as "head 12 of 32"
    std::int64_t heads = 0;
};
float open_block_width(const ModelBlock& block, const OpenBlockRoom& room, float scale);
/// The smallest width that shows all parts.
float least_open_block_width(const ModelBlock& block, const OpenBlockRoom& room, float scale);
/// The items that fit into [0, width]: always the name, heads as individual chips or else one chip naming the selected head, parts, sums.
/// Items that do not fit are dropped from the end.
std::vector<BlockItem> lay_out_open_block(const ModelBlock& block, const OpenBlockRoom& room, float width, float scale);

}  // namespace attn::app
