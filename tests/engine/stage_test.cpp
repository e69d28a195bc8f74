#include "engine/plan/stage.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/random_model.hpp"

namespace attn {
namespace {

TEST(Stage, EveryTensorNameIsItsOwnAndReadsBack) {
    std::set<std::string> seen;
    for (const Stack stack : {Stack::Main, Stack::Encoder, Stack::Decoder})
        for (StageId id : every_stage())
            for (std::uint16_t nth = 0; nth < 3; ++nth) {
                if (id.layer >= 0) id.layer = 3;
                id.stack = stack;
                id.nth = nth;
                const std::string name = tensor_name(id);
                EXPECT_TRUE(seen.insert(name).second) << name;
                EXPECT_EQ(stage_from_tensor_name(name), id) << name;
            }
    EXPECT_EQ(tensor_name({Stage::Weights, 0}), "layers.0.attention.weights");
    EXPECT_EQ(tensor_name({Stage::Scores, 1, Stack::Decoder, kCrossAttention}), "decoder.layers.1.cross_attention.scores");
    EXPECT_EQ(tensor_name({Stage::Norm1, 0, Stack::Decoder, kCrossAttention}), "decoder.layers.0.cross_norm");
    EXPECT_EQ(tensor_name({.stage = Stage::Masked, .layer = 0, .nth = 1}), "layers.0.attention.masked.1");
}

/// Roles that no model of ours has.
TEST(Stage, ThoseOfRecordingsHaveNamesToo) {
    EXPECT_EQ(tensor_name({Stage::Softmax, 2}), "layers.2.attention.softmax");
    EXPECT_EQ(tensor_name({Stage::Other, 0, Stack::Decoder, kCrossAttention, 4}), "decoder.layers.0.cross_attention.other.4");
    for (const StageId& id : {StageId{Stage::Softmax, 2}, StageId{Stage::Softmax, 0, Stack::Decoder, kCrossAttention, 1},
                              StageId{Stage::Other, 1}, StageId{Stage::Other, 0, Stack::Decoder, kCrossAttention, 4}})
        EXPECT_EQ(stage_from_tensor_name(tensor_name(id)), id) << tensor_name(id);
    EXPECT_TRUE(is_probability(Stage::Softmax));
    for (const StageId& id : every_stage()) EXPECT_TRUE(id.stage != Stage::Softmax && id.stage != Stage::Other);
}

TEST(Stage, RefusesOtherSpellings) {
    for (const char* name :
         {"", "weights", "layers.0.weights", "layers.x.norm_1", "layers..norm_1", "layers.0.", "attention.weights",
          "layers.0.attention.norm_1", "layers.-1.norm_1", "layers.0.attention.cross_q", "layers.0.cross_norm_1", "layers.0.norm_2.0",
          "layers.0.norm_2.01", "layers.0.norm_2.65536", "layers.0.norm_2.", "layers.0.cross_ffn_out", "cross_tokens"})
        EXPECT_FALSE(stage_from_tensor_name(name)) << name;
}

TEST(Stage, ANameIsThatOfOneStage) {
    std::set<std::string> seen;
    for (StageId id : every_stage()) {
        const std::string name = stage_name(id);
        EXPECT_TRUE(seen.insert(name).second) << name;
        EXPECT_EQ(name.starts_with("cross_"), id.attention == kCrossAttention) << name;
        if (id.layer >= 0) id.layer = 2;
        EXPECT_EQ(stage_from_name(name, 2), id) << name;
    }
    EXPECT_EQ(stage_from_name("cross_residual"), (StageId{Stage::Residual1, 0, Stack::Main, kCrossAttention}));
    EXPECT_EQ(stage_from_name("cross_q_rotated"), std::nullopt) << "only self-attention rotates";
    EXPECT_EQ(stage_from_name("cross_"), std::nullopt);
}

/// Dropout patterns of saved documents depend on these.
TEST(Stage, ItsKeyStaysWhatItWas) {
    EXPECT_EQ(stage_key({Stage::Dropped, 0}), 12U);
    EXPECT_EQ(stage_key({Stage::AttentionOut, 3}), 15U);
    EXPECT_EQ(stage_key({Stage::FfnOut, 0}), 33U);
    EXPECT_EQ(stage_key({Stage::Norm1, 0, Stack::Decoder, kCrossAttention}), 17U);
    EXPECT_EQ(stage_key({Stage::Dropped, 1, Stack::Decoder, kCrossAttention}), 25U);
    EXPECT_EQ(stage_key({Stage::AttentionOut, 1, Stack::Decoder, kCrossAttention}), 28U);
    EXPECT_EQ(stage_key({Stage::Residual1, 1, Stack::Decoder, kCrossAttention}), 29U);
    std::set<std::uint64_t> seen;
    for (const StageId& id : every_stage()) EXPECT_TRUE(seen.insert(stage_key(id)).second) << stage_name(id);
}

/// Exactly the stages that a plan computes by a linear map have one, and no two have the same subscript.
TEST(Stage, KnowsItsLinearMap) {
    EXPECT_EQ(linear_map(Stage::AttentionOut), LinearMap::AttentionOut);
    EXPECT_EQ(linear_map(Stage::Logits), LinearMap::Logits);
    std::set<std::string_view> subscripts;
    int maps = 0;
    for (int i = 0; i < kStageCount; ++i) {
        const Stage stage = static_cast<Stage>(i);
        EXPECT_EQ(linear_map(stage).has_value(), !linear_subscript(stage).empty()) << stage_name({stage});
        if (!linear_map(stage)) continue;
        ++maps;
        EXPECT_TRUE(subscripts.insert(linear_subscript(stage)).second) << stage_name({stage});
    }
    EXPECT_EQ(maps, static_cast<int>(LinearMap::Logits) + 1);
    for (unsigned seed = 0; seed < 40; ++seed) {
        const Plan plan(testing_support::RandomModel(seed, seed % 2 == 0).config);
        for (const PlanNode& node : plan.nodes())
            EXPECT_EQ(linear_map(node.id.stage).has_value(), node.op == Op::Linear) << seed << ": " << tensor_name(node.id);
    }
}

}  // namespace
}  // namespace attn
