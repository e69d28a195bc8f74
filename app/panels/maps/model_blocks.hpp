#pragma once
/// The blocks of a model as a diagram shows them, read from its plan: what comes before the layers, each layer with its parts, what
/// comes after them.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

enum class PartKind : std::uint8_t { Attention, CrossAttention, FeedForward };

/// What a layer consists of, in the order of computation.
struct BlockPart {
    PartKind kind = PartKind::Attention;
    StageId opens;               ///< where a click goes: the weights, or what a feed-forward block gives
    std::optional<StageId> sum;  ///< where its result is added to the stream; none: it takes the stream's place
    bool operator==(const BlockPart&) const = default;
};

enum class BlockKind : std::uint8_t { Start, Layer, End };

/// Consecutive nodes of the plan.
struct ModelBlock {
    BlockKind kind = BlockKind::Layer;
    Stack stack = Stack::Main;
    int layer = -1;
    std::size_t first = 0, end = 0;  ///< places among the nodes
    std::vector<BlockPart> parts;    ///< of a layer; empty for what comes before and after
    bool parallel = false;           ///< its parts read the stream before any of them is added to it

    bool holds(std::size_t node) const { return node >= first && node < end; }
};

/// In the order of computation; together they are all nodes.
std::vector<ModelBlock> model_blocks(const Plan& plan);
/// The block of a stage; 0 for one that the plan does not have.
std::size_t block_of(const std::vector<ModelBlock>& blocks, const Plan& plan, const StageId& id);
/// Which part of its layer a stage belongs to; none for sums.
std::optional<PartKind> part_of(const StageId& id);
/// Where to go in a block: to the stage that is shown where the block has it, else to its last one; in a layer to its weights.
StageId stage_in(const Plan& plan, const ModelBlock& block, const StageId& shown);

/// "layer 2", "encoder 0", "words in", "next word", "words out".
std::string block_title(const Trace<float>& trace, const ModelBlock& block);
/// What it does, in a sentence.
std::string block_sentence(const Plan& plan, const ModelBlock& block);

}  // namespace attn::app
