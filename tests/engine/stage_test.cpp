#include "engine/plan/stage.hpp"

#include <gtest/gtest.h>

#include <set>

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

}  // namespace
}  // namespace attn
