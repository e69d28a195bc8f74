#pragma once
/// The blocks of a model as shown in a diagram, derived from its plan: the start, each layer with its parts, and the end.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/trace/structure.hpp"

namespace attn::app {

enum class PartKind : std::uint8_t { Attention, CrossAttention, FeedForward };

/// A part of a layer.
struct BlockPart {
    PartKind kind = PartKind::Attention;
    StageId opens;               ///< where a click leads: the weights, or the output of a feed-forward network
    std::optional<StageId> sum;  ///< where its result is added to the residual stream; none: it replaces the stream
    bool operator==(const BlockPart&) const = default;
};

enum class BlockKind : std::uint8_t { Start, Layer, End };

/// A range of consecutive plan nodes.
struct ModelBlock {
    BlockKind kind = BlockKind::Layer;
    Stack stack = Stack::Main;
    int layer = -1;
    std::size_t first = 0, end = 0;  ///< node indices [first, end)
    std::vector<BlockPart> parts;    ///< in computation order; empty unless it is a layer
    bool parallel = false;           ///< all parts read the residual stream before any of their results is added

    bool holds(std::size_t node) const { return node >= first && node < end; }
};

/// The blocks in computation order; together they contain all nodes.
std::vector<ModelBlock> model_blocks(const Plan& plan);
/// The index of the block that contains a stage; 0 if the plan does not have it.
std::size_t block_of(const std::vector<ModelBlock>& blocks, const Plan& plan, const StageId& id);
/// The part that a stage belongs to; none for sums.
std::optional<PartKind> part_of(const StageId& id);
/// The stage to open in a block: the shown one if the block has it, otherwise the weights of a layer or the last stage of another block.
StageId stage_in(const Plan& plan, const ModelBlock& block, const StageId& shown);

/// Such as "layer 2", "encoder 0", "words in", "next word", "words out"; `noun`: what a token is called, see token_noun().
std::string block_title(const Structure& structure, const ModelBlock& block, std::string_view noun);
/// A sentence saying what the block does.
std::string block_sentence(const Plan& plan, const ModelBlock& block, std::string_view noun);

}  // namespace attn::app
