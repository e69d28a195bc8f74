#include "app/panels/kit/model_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attn::app {
namespace {

/// The part of that kind; created on first use.
BlockPart& part_for(ModelBlock& block, PartKind kind) {
    for (BlockPart& part : block.parts)
        if (part.kind == kind) return part;
    return block.parts.emplace_back(BlockPart{kind, {}, {}});
}

/// A norm, even if a mistake makes it pass its input on.
bool is_norm(const PlanNode& node) { return node.op == Op::Norm || (node.op == Op::PassOn && !is_attention_map(node.id.stage)); }

/// Assigns a sum to the part whose result it adds to the residual stream.
void add_sum(ModelBlock& block, const PlanNode& node) {
    const std::optional<PartKind> kind = part_of(node.inputs.back());
    for (BlockPart& part : block.parts) {
        if (part.kind != kind) continue;
        part.sum = node.id;
        // Another part was computed before this one's result was added, so both read the same input.
        block.parallel |= &part != &block.parts.back();
    }
}

void add_to_parts(ModelBlock& block, const PlanNode& node) {
    const std::optional<PartKind> kind = part_of(node.id);
    if (!kind) return add_sum(block, node);
    // A norm after its part does not start a new part.
    if (is_norm(node) && !block.parts.empty() && block.parts.back().kind == *kind) return;
    const bool known = std::any_of(block.parts.begin(), block.parts.end(), [&](const BlockPart& part) { return part.kind == *kind; });
    BlockPart& part = part_for(block, *kind);
    const bool best = *kind == PartKind::FeedForward ? !is_norm(node) : node.id.stage == Stage::Weights;
    if (!known || best) part.opens = node.id;
}

bool has_stack(const std::vector<ModelBlock>& blocks, Stack stack) {
    return std::any_of(blocks.begin(), blocks.end(), [stack](const ModelBlock& block) { return block.stack == stack; });
}

bool predicts(const Plan& plan, const ModelBlock& block) { return plan.nodes()[block.end - 1].op == Op::Probabilities; }

}  // namespace

std::optional<PartKind> part_of(const StageId& id) {
    if (id.stage == Stage::Residual1 || id.stage == Stage::Residual2) return std::nullopt;
    if (stage_kind(id.stage) == StageKind::FeedForward) return PartKind::FeedForward;
    return id.attention == kCrossAttention ? PartKind::CrossAttention : PartKind::Attention;
}

std::vector<ModelBlock> model_blocks(const Plan& plan) {
    std::vector<ModelBlock> blocks;
    const auto& nodes = plan.nodes();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const StageId& id = nodes[i].id;
        if (blocks.empty() || blocks.back().layer != id.layer || blocks.back().stack != id.stack) {
            ModelBlock block;
            block.kind = id.layer >= 0 ? BlockKind::Layer : has_stack(blocks, id.stack) ? BlockKind::End : BlockKind::Start;
            block.stack = id.stack;
            block.layer = id.layer;
            block.first = i;
            blocks.push_back(block);
        }
        blocks.back().end = i + 1;
        if (blocks.back().kind == BlockKind::Layer) add_to_parts(blocks.back(), nodes[i]);
    }
    return blocks;
}

std::size_t block_of(const std::vector<ModelBlock>& blocks, const Plan& plan, const StageId& id) {
    const PlanNode* node = plan.find(id);
    if (node == nullptr) return 0;
    const auto place = static_cast<std::size_t>(node - plan.nodes().data());
    const auto found = std::find_if(blocks.begin(), blocks.end(), [place](const ModelBlock& block) { return block.holds(place); });
    return found == blocks.end() ? 0 : static_cast<std::size_t>(found - blocks.begin());
}

StageId stage_in(const Plan& plan, const ModelBlock& block, const StageId& shown) {
    StageId id = shown;
    id.layer = block.layer;
    id.stack = block.stack;
    const PlanNode* node = plan.find(id);
    if (node != nullptr && block.holds(static_cast<std::size_t>(node - plan.nodes().data()))) return id;
    if (!block.parts.empty()) return block.parts.front().opens;
    return plan.nodes()[block.end - 1].id;
}

std::string block_title(const Structure& structure, const ModelBlock& block, std::string_view noun) {
    const char* stack = block.stack == Stack::Encoder ? "encoder" : block.stack == Stack::Decoder ? "decoder" : "layer";
    switch (block.kind) {
    case BlockKind::Start:
        return block.stack == Stack::Encoder ? "source in" : fmt::format("{}s in", noun);
    case BlockKind::Layer:
        return fmt::format("{} {}", stack, block.layer);
    case BlockKind::End:
        if (predicts(*structure.plan, block))
            return structure.config.architecture == Architecture::Encoder ? fmt::format("{}s out", noun) : fmt::format("next {}", noun);
        return block.stack == Stack::Encoder ? "memory" : "result";
    }
    return "";
}

std::string block_sentence(const Plan& plan, const ModelBlock& block, std::string_view noun) {
    if (block.kind == BlockKind::Start) {
        const bool with_place = std::any_of(plan.nodes().begin(), plan.nodes().end(), [&](const PlanNode& node) {
            return node.id.stage == Stage::PositionEmbedding && node.id.stack == block.stack;
        });
        return fmt::format("Every {} becomes a vector{}.", noun, with_place ? ", together with its place in the text" : "");
    }
    if (block.kind == BlockKind::End)
        return predicts(plan, block) ? fmt::format("The final vectors become a probability for every {} in the vocabulary.", noun)
                                     : "The vectors that come out of the last layer.";
    std::string sentence;
    for (const BlockPart& part : block.parts) {
        const std::string words = part.kind == PartKind::Attention ? fmt::format("{0}s gather what other {0}s hold (attention)", noun)
                                  : part.kind == PartKind::CrossAttention ? "they gather from the source text (cross-attention)"
                                                                          : "each is processed on its own (feed-forward)";
        sentence += (sentence.empty() ? "" : block.parallel ? ", and at the same time " : ", then ") + words;
    }
    if (!sentence.empty()) sentence[0] = static_cast<char>(sentence[0] - 'a' + 'A');
    return sentence + ".";
}

}  // namespace attn::app
