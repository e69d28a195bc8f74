#pragma once
/// Where the blocks of a model lie in a row, and what an open one shows inside: plain geometry in whole pixels, from x = 0.

#include <cstdint>
#include <span>
#include <vector>

#include "app/panels/maps/model_blocks.hpp"

namespace attn::app {

struct Stretch {
    float min = 0, max = 0;
    float width() const { return max - min; }
};

/// Pixels that a block would like and those it can do with; of the gap before it, too.
struct BlockRoom {
    float natural = 0, smallest = 0;
    float gap = 0, smallest_gap = 0;  ///< of the first block not used
};

/// The blocks from left to right. Where all have what they would like, gaps and blocks share what is left, within reason; where
/// they do not, the others shrink together before the open one does. Only where the smallest do not fit either is the row wider than
/// `room`: it scrolls.
std::vector<Stretch> lay_out_blocks(std::span<const BlockRoom> blocks, std::size_t open, float room, float scale);

/// One thing inside an open block.
struct BlockItem {
    enum class Kind : std::uint8_t { Title, Head, HeadsLabel, Part, Sum };
    Kind kind = Kind::Title;
    std::size_t part = 0;   ///< among the block's parts
    std::int64_t head = 0;  ///< of Kind::Head
    Stretch at;
    bool operator==(const BlockItem& other) const { return kind == other.kind && part == other.part && head == other.head; }
};

/// Pixels that an open block needs: with a chip for every head, or with one that names the chosen head.
struct OpenBlockRoom {
    float title = 0;              ///< of its name
    std::vector<float> labels{};  ///< of each part's name
    float chosen = 0;             ///< "head 12 of 32"
    std::int64_t heads = 0;
};
float open_block_width(const ModelBlock& block, const OpenBlockRoom& room, float scale);
/// The least with which all of its parts are there.
float least_open_block_width(const ModelBlock& block, const OpenBlockRoom& room, float scale);
/// What fits into [0, width]: the name always; heads as chips, else one chip that names the chosen one; parts; sums. What does not fit is
/// left out from the end.
std::vector<BlockItem> lay_out_open_block(const ModelBlock& block, const OpenBlockRoom& room, float width, float scale);

}  // namespace attn::app
