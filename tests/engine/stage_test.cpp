#include "engine/plan/stage.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/random_model.hpp"

namespace attn {
namespace {

TEST(Stage, EveryTensorNameIsItsOwnAndReadsBack) {
    std::set<std::string> seen;
    for (const Stack stack : {Stack::Main, Stack::Encoder, Stack::Decoder})
        for (int i = 0; i < kStageCount; ++i) {
            const StageId id{static_cast<Stage>(i), is_layer_stage(static_cast<Stage>(i)) ? 3 : -1, stack};
            const std::string name = tensor_name(id);
            EXPECT_TRUE(seen.insert(name).second) << name;
            EXPECT_EQ(stage_from_tensor_name(name), id) << name;
        }
    EXPECT_EQ(tensor_name({Stage::Weights, 0}), "layers.0.attention.weights");
    EXPECT_EQ(tensor_name({Stage::CrossScores, 1, Stack::Decoder}), "decoder.layers.1.cross_attention.scores");
}

TEST(Stage, RefusesOtherSpellings) {
    for (const char* name : {"", "weights", "layers.0.weights", "layers.x.norm_1", "layers..norm_1", "layers.0.", "attention.weights",
                             "layers.0.attention.norm_1", "layers.-1.norm_1", "layers.0.attention.cross_q"})
        EXPECT_FALSE(stage_from_tensor_name(name)) << name;
}

TEST(Stage, CrossAndSelfAreInverse) {
    for (int i = 0; i < kStageCount; ++i) {
        const Stage stage = static_cast<Stage>(i);
        EXPECT_EQ(to_self(to_cross(stage)), to_self(stage));
        if (is_cross(stage)) {
            EXPECT_EQ(std::string(stage_name(stage)).substr(0, 6), "cross_");
        }
    }
    EXPECT_EQ(to_cross(Stage::Weights), Stage::CrossWeights);
}

/// Exactly the stages that a plan computes by a linear map have one, and no two have the same subscript.
TEST(Stage, KnowsItsLinearMap) {
    EXPECT_EQ(linear_map(Stage::CrossAttentionOut), LinearMap::AttentionOut);
    EXPECT_EQ(linear_map(Stage::Logits), LinearMap::Logits);
    std::set<std::string_view> subscripts;
    int maps = 0;
    for (int i = 0; i < kStageCount; ++i) {
        const Stage stage = static_cast<Stage>(i);
        EXPECT_EQ(linear_map(stage), linear_map(to_self(stage))) << stage_name(stage);
        EXPECT_EQ(linear_map(stage).has_value(), !linear_subscript(stage).empty()) << stage_name(stage);
        if (!linear_map(stage) || is_cross(stage)) continue;
        ++maps;
        EXPECT_TRUE(subscripts.insert(linear_subscript(stage)).second) << stage_name(stage);
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
