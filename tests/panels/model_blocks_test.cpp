#include "app/panels/kit/model_blocks.hpp"

#include <gtest/gtest.h>

#include <random>

#include "app/session/document/presets.hpp"
#include "tests/support/random_model.hpp"

namespace attn::app {
namespace {

/// What is wrong with the blocks of a plan, "" if nothing is. The oracle is the configuration and the plan's own division into parts.
std::string wrong_blocks(const Config& config, const Plan& plan, const std::vector<ModelBlock>& blocks) {
    const auto& nodes = plan.nodes();
    std::size_t at = 0;
    std::int64_t layers = 0;
    for (const ModelBlock& block : blocks) {
        if (block.first != at || block.end <= block.first) return "the blocks are not one after the other";
        at = block.end;
        const PlanPart part = plan.part_around(nodes[block.first].id);
        if (part.first != block.first || part.end != block.end) return "a block is no part of the plan";
        if ((block.kind == BlockKind::Layer) != (block.layer >= 0)) return "a layer has no number";
        if (block.kind == BlockKind::Start && nodes[block.first].op != Op::Tokens) return "it does not start with the tokens";
        if (block.kind != BlockKind::Layer) {
            if (!block.parts.empty()) return "parts outside the layers";
            continue;
        }
        ++layers;
        const bool decoder = block.stack == Stack::Decoder;
        const std::size_t expected = 1U + (decoder ? 1U : 0U) + (config.feed_forward ? 1U : 0U);
        if (block.parts.size() != expected) return "a layer has another number of parts";
        if (block.parts[0].kind != PartKind::Attention || block.parts[0].opens.stage != Stage::Weights ||
            block.parts[0].opens.attention != kSelfAttention)
            return "no attention first";
        if (decoder && (block.parts[1].kind != PartKind::CrossAttention ||
                        block.parts[1].opens != StageId{Stage::Weights, block.layer, block.stack, kCrossAttention}))
            return "no cross-attention second";
        if (config.feed_forward && (block.parts.back().kind != PartKind::FeedForward || block.parts.back().opens.stage != Stage::FfnOut))
            return "no feed-forward last";
        if (block.parallel != (config.residual && config.feed_forward && config.order != BlockOrder::InTurn))
            return "parts in turn that are computed at once, or at once that are in turn";
        for (const BlockPart& piece : block.parts) {
            const std::uint8_t attention = piece.kind == PartKind::CrossAttention ? kCrossAttention : kSelfAttention;
            const Stage sum = piece.kind == PartKind::FeedForward ? Stage::Residual2 : Stage::Residual1;
            if (piece.sum && (piece.sum->stage != sum || piece.sum->attention != attention)) return "a part has the sum of another";
            if (piece.sum.has_value() != config.residual) return "a sum where there is none, or none where there is one";
            if (plan.find(piece.opens) == nullptr || (piece.sum && plan.find(*piece.sum) == nullptr)) return "a part leads nowhere";
        }
    }
    if (at != nodes.size()) return "a stage is in no block";
    const bool two_stacks = config.architecture == Architecture::EncoderDecoder;
    if (layers != config.num_layers + (two_stacks ? config.layers_of(Stack::Encoder) : 0)) return "another number of layers";
    return "";
}

TEST(ModelBlocks, AreThoseOfEveryExample) {
    for (const Preset& preset : presets()) {
        if (preset.document.model) continue;
        Config config = preset.document.config;
        config.vocab_size = config.context_length = 9;  // determined by the text
        const Plan plan(config);
        EXPECT_EQ(wrong_blocks(config, plan, model_blocks(plan)), "") << preset.name;
    }
}

TEST(ModelBlocks, AreThoseOfAnyModel) {
    for (unsigned seed = 0; seed < 400; ++seed) {
        const testing_support::RandomModel model(seed, seed % 2 == 0);
        const Plan plan(model.config);
        EXPECT_EQ(wrong_blocks(model.config, plan, model_blocks(plan)), "") << seed;
    }
}

TEST(ModelBlocks, TheCheckFindsABlockThatIsCutInTwo) {
    const Config config;
    const Plan plan(config);
    std::vector<ModelBlock> blocks = model_blocks(plan);
    ModelBlock second = blocks[1];
    blocks[1].end = second.first = (second.first + second.end) / 2;
    blocks.insert(blocks.begin() + 2, second);
    EXPECT_NE(wrong_blocks(config, plan, blocks), "");
    blocks = model_blocks(plan);
    blocks[1].parts.pop_back();
    EXPECT_NE(wrong_blocks(config, plan, blocks), "");
}

TEST(ModelBlocks, EveryStageIsFoundInItsBlockAndStaysWhatItIsInTheNext) {
    for (unsigned seed = 0; seed < 60; ++seed) {
        const testing_support::RandomModel model(seed, seed % 2 == 0);
        const Plan plan(model.config);
        const std::vector<ModelBlock> blocks = model_blocks(plan);
        for (const PlanNode& node : plan.nodes()) {
            const ModelBlock& block = blocks[block_of(blocks, plan, node.id)];
            EXPECT_EQ(block.layer, node.id.layer);
            EXPECT_EQ(block.stack, node.id.stack);
            EXPECT_EQ(stage_in(plan, block, node.id), node.id);
            for (const ModelBlock& other : blocks) {
                const StageId there = stage_in(plan, other, node.id);
                ASSERT_NE(plan.find(there), nullptr);
                EXPECT_EQ(block_of(blocks, plan, there), static_cast<std::size_t>(&other - blocks.data()));
                // Layers may differ: one may have rotated queries and another not.
                if (other.stack == block.stack && other.kind == block.kind &&
                    plan.find({node.id.stage, other.layer, other.stack, node.id.attention}) != nullptr) {
                    EXPECT_TRUE(same_role(there, node.id));
                }
            }
        }
    }
}

}  // namespace
}  // namespace attn::app
