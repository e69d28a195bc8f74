#include <gtest/gtest.h>

#include <cmath>
#include <span>

#include "engine/model/transformer.hpp"
#include "engine/tensor/random.hpp"
#include "tests/engine/notebook_values.hpp"

namespace attn {
namespace {

Config bare_attention(std::int64_t d_model, std::int64_t heads) {
    Config config;
    config.vocab_size = 4;
    config.context_length = 4;
    config.d_model = d_model;
    config.num_heads = heads;
    config.num_layers = 1;
    config.qkv_bias = config.output_projection = config.output_bias = config.residual = config.feed_forward = false;
    config.final_norm = config.lm_head = config.tied_lm_head = false;
    config.norm = NormPlacement::None;
    config.position = PositionKind::None;
    config.init = Init::Numpy;
    return config;
}

template <class Scalar>
Trace<Scalar> run(const Config& config) {
    const TokenBatch tokens{4, {0, 1, 2, 3}, {4}};
    return trace_forward<Scalar>(std::make_shared<const Parameters<Scalar>>(initial_parameters<Scalar>(config)), tokens, {}, {});
}

template <class Scalar>
void expect_stage(const Trace<Scalar>& trace, Stage stage, std::span<const double> expected, std::int64_t offset = 0) {
    const auto* recorded = trace.find({stage, is_layer_stage(stage) ? 0 : -1});
    ASSERT_NE(recorded, nullptr) << stage_name({stage});
    ASSERT_GE(recorded->value.size(), offset + static_cast<std::int64_t>(expected.size())) << stage_name({stage});
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double got = recorded->value.data()[offset + static_cast<std::int64_t>(i)];
        const double tolerance = sizeof(Scalar) == 8 ? 1e-12 : 1e-5 * std::max(1.0, std::abs(expected[i]));
        EXPECT_TRUE(std::abs(got - expected[i]) <= tolerance) << stage_name({stage}) << " " << i << ": " << got << " not " << expected[i];
    }
}

TEST(NumpyRandom, DrawsRandnBitForBit) {
    NumpyRandom x(42), w(0);
    for (const double expected : notebook::kSingleX) EXPECT_EQ(x.normal(), expected);
    for (const double expected : notebook::kSingleWQ) EXPECT_EQ(w.normal(), expected);
}

TEST(NumpyRandom, DrawsUniformsAndRefillsBitForBit) {
    NumpyRandom random(12345);
    EXPECT_EQ(random.uniform(), 0.9296160928171479);  // np.random.seed(12345); np.random.rand(2)
    EXPECT_EQ(random.uniform(), 0.3163755545817859);
    for (int i = 0; i < 998; ++i) random.uniform();
    EXPECT_EQ(random.uniform(), 0.7976445358842773);  // the 1001st, after refilling the state three times
}

template <class Scalar>
class Notebook : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(Notebook, Scalars);

TYPED_TEST(Notebook, SingleHeadGivesNumpysNumbers) {
    Config config = bare_attention(6, 1);
    config.seed = 0;
    const auto trace = run<TypeParam>(config);
    expect_stage<TypeParam>(trace, Stage::Embedding, notebook::kSingleX);
    expect_stage<TypeParam>(trace, Stage::Q, notebook::kSingleQ);
    expect_stage<TypeParam>(trace, Stage::K, notebook::kSingleK);
    expect_stage<TypeParam>(trace, Stage::V, notebook::kSingleV);
    expect_stage<TypeParam>(trace, Stage::Scores, notebook::kSingleScores);
    expect_stage<TypeParam>(trace, Stage::Scaled, notebook::kSingleScaled);
    expect_stage<TypeParam>(trace, Stage::Weights, notebook::kSingleWeights);
    expect_stage<TypeParam>(trace, Stage::Context, notebook::kSingleContext);
    EXPECT_EQ(trace.find({Stage::AttentionOut, 0}), nullptr);
    EXPECT_EQ(trace.find({Stage::Logits, -1}), nullptr);
    EXPECT_EQ(trace.find({Stage::PositionEmbedding, -1}), nullptr);
}

TYPED_TEST(Notebook, ThreeHeadsGiveNumpysNumbers) {
    Config config = bare_attention(12, 3);
    config.seed = 1;
    config.separate_heads = true;
    config.output_projection = true;
    const auto trace = run<TypeParam>(config);
    expect_stage<TypeParam>(trace, Stage::Embedding, notebook::kThreeX);
    expect_stage<TypeParam>(trace, Stage::Weights, notebook::kThreeHead2Weights, 2 * 16);
    expect_stage<TypeParam>(trace, Stage::Context, notebook::kThreeHead2Context, 2 * 16);
    expect_stage<TypeParam>(trace, Stage::Concat, notebook::kThreeConcat);
    expect_stage<TypeParam>(trace, Stage::AttentionOut, notebook::kThreeOutput);
    const TypeParam* qkv = trace.parameters->find("layers.0.attention.qkv.weight");
    for (std::int64_t r = 0; r < 12; ++r)
        for (std::int64_t c = 0; c < 4; ++c)
            EXPECT_EQ(qkv[r * 36 + 12 + 4 + c], static_cast<TypeParam>(notebook::kThreeHead1WK[r * 4 + c]));
}

}  // namespace
}  // namespace attn
