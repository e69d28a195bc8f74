// Models and training at the limits: no numbers, no targets or no positions; staged and fused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "engine/explain/not_finite.hpp"
#include "engine/model/transformer.hpp"
#include "engine/trace/head_scores.hpp"
#include "engine/train/train_step.hpp"

namespace attn {
namespace {

using testing::HasSubstr;

Config small_config(Architecture architecture = Architecture::DecoderOnly) {
    Config config;
    config.architecture = architecture;
    config.vocab_size = 9;
    config.context_length = 12;
    config.d_model = 12;
    config.num_heads = 3;
    config.num_layers = 2;
    config.d_ff = 10;
    config.tied_lm_head = false;
    return config;
}

ForwardSettings causal() {
    ForwardSettings settings;
    settings.masks.causal = true;
    return settings;
}

TrainSettings train_settings() {
    TrainSettings settings;
    settings.forward = causal();
    return settings;
}

template <class Scalar>
class ModelEdges : public testing::Test {
protected:
    /// Loss and gradients from the fused path.
    struct Pass {
        Pass(const Parameters<Scalar>& parameters, const TokenBatch& tokens, const TokenBatch& source,
             const std::vector<std::int32_t>& targets, const ForwardSettings& settings = causal())
            : pass(parameters) {
            pass.forward(tokens, source, settings, tap);
            loss = pass.loss(targets);
            pass.backward(tap);
        }
        ModelPass<Scalar> pass;
        Tap<Scalar> tap;
        CrossEntropy loss;
    };
    static bool all_zero(const Parameters<Scalar>& parameters) {
        return std::all_of(parameters.data(), parameters.data() + parameters.count(), [](Scalar x) { return x == 0; });
    }
    static bool all_finite(const Parameters<Scalar>& parameters) {
        return std::all_of(parameters.data(), parameters.data() + parameters.count(), [](Scalar x) { return std::isfinite(x); });
    }
    static bool same_bits(const Parameters<Scalar>& a, const Parameters<Scalar>& b) {
        return std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.count()) * sizeof(Scalar)) == 0;
    }
};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(ModelEdges, Scalars);

constexpr std::int32_t kNone = kIgnoredTarget;

TYPED_TEST(ModelEdges, ABatchOfNothingButPaddingTeachesNothing) {
    for (const Architecture architecture : {Architecture::Encoder, Architecture::DecoderOnly, Architecture::EncoderDecoder}) {
        const auto parameters = initial_parameters<TypeParam>(small_config(architecture));
        const TokenBatch padding{4, std::vector<std::int32_t>(8, 0), {0, 0}}, source{3, std::vector<std::int32_t>(6, 0), {0, 0}};
        const std::vector<std::int32_t> targets(8, kNone);
        typename TestFixture::Pass fused(parameters, padding, source, targets, {});
        EXPECT_EQ(fused.loss.counted, 0);
        EXPECT_EQ(fused.loss.loss, 0);
        EXPECT_TRUE(this->all_zero(fused.pass.gradients()));
        const auto staged = trace_gradients<TypeParam>(parameters, padding, source, targets, {});
        EXPECT_EQ(staged.counted, 0);
        EXPECT_TRUE(this->all_zero(*staged.parameters));
        TrainingState<TypeParam> state(parameters);
        const StepResult result = state.step(padding, source, targets, train_settings());
        EXPECT_FALSE(result.applied());
        EXPECT_EQ(result.not_finite, "");
        EXPECT_EQ(state.steps(), 0);
        EXPECT_TRUE(this->same_bits(state.parameters(), parameters));
    }
}

TYPED_TEST(ModelEdges, EmptyBatchesTextsAndSourcesPassThroughTraining) {
    const auto parameters = initial_parameters<TypeParam>(small_config());
    for (const TokenBatch& empty : {TokenBatch{0, {}, {}}, TokenBatch{5, {}, {}}, TokenBatch{0, {}, {0, 0}}}) {
        typename TestFixture::Pass pass(parameters, empty, {}, {});
        EXPECT_EQ(pass.loss.counted, 0);
        EXPECT_EQ(pass.pass.logits().size(), 0);
        EXPECT_TRUE(this->all_zero(pass.pass.gradients()));
        TrainingState<TypeParam> state(parameters);
        EXPECT_FALSE(state.step(empty, {}, {}, train_settings()).applied());
    }
    // Cross-attention without any keys gives 0; the rest learns.
    const auto two = initial_parameters<TypeParam>(small_config(Architecture::EncoderDecoder));
    typename TestFixture::Pass pass(two, {2, {1, 2}, {2}}, {0, {}, {0}}, {2, 3});
    EXPECT_TRUE(std::isfinite(pass.loss.loss));
    EXPECT_TRUE(this->all_finite(pass.pass.gradients()));
    EXPECT_FALSE(this->all_zero(pass.pass.gradients()));
}

TYPED_TEST(ModelEdges, IdsOutsideTheVocabularyAreRefusedBeforeAnythingIsComputed) {
    const auto parameters = initial_parameters<TypeParam>(small_config());
    TrainingState<TypeParam> state(parameters);
    for (const std::int32_t bad : {-1, 9, std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min()}) {
        EXPECT_THROW(state.step({2, {1, bad}, {2}}, {}, std::vector<std::int32_t>{1, 2}, train_settings()), Error);
        if (bad == kNone) continue;
        EXPECT_THROW(state.step({2, {1, 2}, {2}}, {}, std::vector<std::int32_t>{1, bad}, train_settings()), Error);
    }
    EXPECT_TRUE(this->same_bits(state.parameters(), parameters));
    EXPECT_EQ(state.steps(), 0);
}

TYPED_TEST(ModelEdges, WhatLeavesTheRangeIsReportedWithItsPlace) {
    const bool is_float = sizeof(TypeParam) == 4;
    auto parameters = std::make_shared<Parameters<TypeParam>>(initial_parameters<TypeParam>(small_config()));
    const TokenBatch tokens{4, {1, 2, 3, 4, 5, 6, 7, 8}, {4, 4}};
    EXPECT_FALSE(first_not_finite(trace_forward<TypeParam>(parameters, tokens, {}, causal())).has_value());
    // Head 1's queries and keys are so large that their products overflow.
    TypeParam* bias = parameters->find("layers.0.attention.qkv.bias");
    for (const std::int64_t at : {std::int64_t{4}, std::int64_t{12 + 4}}) bias[at] = static_cast<TypeParam>(is_float ? 1e20 : 1e155);
    const auto trace = trace_forward<TypeParam>(parameters, tokens, {}, causal());
    const auto bad = first_not_finite(trace);
    ASSERT_TRUE(bad.has_value());
    EXPECT_EQ(bad->text, "layers.0.attention.scores at B=0, H=1, T=0, S=0 is inf");
    EXPECT_EQ(bad->cell.index, (std::array<std::int64_t, 4>{0, 1, 0, 0}));
    const auto& weights = trace.find({Stage::Weights, 0})->value;
    EXPECT_TRUE(std::isnan(weights(0, 1, 3, 2)) && !std::isnan(weights(0, 0, 3, 2)) && weights(0, 1, 0, 3) == 0);
    TrainingState<TypeParam> state(*parameters);
    const StepResult result = state.step(tokens, {}, std::vector<std::int32_t>{1, 2, 3, 4, 1, 2, 3, 4}, train_settings());
    EXPECT_EQ(result.not_finite, "the loss");
    EXPECT_TRUE(this->same_bits(state.parameters(), *parameters));
}

/// A NaN token behind the causal mask changes no bit of the positions that cannot see it.
TYPED_TEST(ModelEdges, ANanTokenBehindTheMaskLeavesTrainingsLogitsAlone) {
    for (const double bad : {std::nan(""), HUGE_VAL}) {
        auto parameters = initial_parameters<TypeParam>(small_config());
        ModelPass<TypeParam> clean(parameters), bitten(parameters);
        Tap<TypeParam> none;
        clean.forward({6, {1, 2, 3, 4, 5, 6}, {6}}, {}, causal(), none);
        parameters.find("token_embedding.weight")[8 * 12 + 3] = static_cast<TypeParam>(bad);
        bitten.forward({6, {1, 2, 3, 8, 5, 6}, {6}}, {}, causal(), none);
        const auto &a = clean.logits(), &b = bitten.logits();
        EXPECT_EQ(std::memcmp(a.data(), b.data(), 3 * 9 * sizeof(TypeParam)), 0);
        for (std::int64_t i = 3 * 9; i < 6 * 9; ++i) EXPECT_TRUE(std::isnan(b.data()[i]));
    }
}

TYPED_TEST(ModelEdges, ModelsOfWidthOneAndOneHeadNumberWork) {
    Config config = small_config();
    config.d_model = config.num_heads = config.d_ff = 1;
    config.vocab_size = 2;
    for (const NormPlacement norm : {NormPlacement::Pre, NormPlacement::Post, NormPlacement::None}) {
        config.norm = norm;
        typename TestFixture::Pass pass(initial_parameters<TypeParam>(config), {3, {0, 1, 0}, {3}}, {}, {1, 0, 1});
        EXPECT_TRUE(std::isfinite(pass.loss.loss));
        EXPECT_TRUE(this->all_finite(pass.pass.gradients()));
    }
    config.layer_norm_eps = 0;
    EXPECT_THROW(initial_parameters<TypeParam>(config), ConfigError);
}

TYPED_TEST(ModelEdges, DropoutRatesOutsideZeroToOneAreRefused) {
    const auto parameters = initial_parameters<TypeParam>(small_config());
    TrainingState<TypeParam> state(parameters);
    for (double DropoutSettings::*rate : {&DropoutSettings::attention, &DropoutSettings::residual, &DropoutSettings::embedding})
        for (const double bad : {-0.1, 1.1, std::nan("")}) {
            TrainSettings settings = train_settings();
            settings.forward.dropout.*rate = bad;
            EXPECT_THROW(state.step({2, {1, 2}, {2}}, {}, std::vector<std::int32_t>{2, 3}, settings), ConfigError);
        }
    EXPECT_EQ(state.steps(), 0);
    // With everything dropped, the blocks add nothing and nothing is divided by 0.
    TrainSettings all = train_settings();
    all.forward.dropout = {.attention = 1, .residual = 1, .embedding = 1, .seed = 1};
    EXPECT_TRUE(state.step({2, {1, 2}, {2}}, {}, std::vector<std::int32_t>{2, 3}, all).applied());
    EXPECT_TRUE(this->all_finite(state.parameters()));
}

TYPED_TEST(ModelEdges, OptimizerSettingsAreRefusedOrStepGuarded) {
    const auto parameters = initial_parameters<TypeParam>(small_config());
    const TokenBatch tokens{2, {1, 2}, {2}};
    const std::vector<std::int32_t> targets{2, 3};
    TrainingState<TypeParam> state(parameters);
    const auto refuses = [&](const std::function<void(TrainSettings&)>& change) {
        TrainSettings settings = train_settings();
        change(settings);
        EXPECT_THROW(state.step(tokens, {}, targets, settings), ConfigError);
    };
    for (const double bad : {-1e-3, std::nan(""), HUGE_VAL}) refuses([&](TrainSettings& s) { s.schedule.rate = bad; });
    for (const double bad : {1.0, -0.1, std::nan("")}) {
        refuses([&](TrainSettings& s) { s.adamw.beta1 = bad; });
        refuses([&](TrainSettings& s) { s.adamw.beta2 = bad; });
    }
    for (const double bad : {0.0, -1.0, std::nan("")}) refuses([&](TrainSettings& s) { s.adamw.eps = bad; });
    for (const double bad : {-1.0, std::nan("")}) refuses([&](TrainSettings& s) { s.clip_norm = bad; });
    const auto& moments = state.optimizer().first_moments();
    EXPECT_THROW(state.restore(parameters, moments, moments, -1), ConfigError) << "bias correction of step 0 divides by 0";
    EXPECT_TRUE(this->same_bits(state.parameters(), parameters));
    EXPECT_EQ(state.steps(), 0);
    TrainSettings still = train_settings();
    still.schedule.rate = 0;
    EXPECT_TRUE(state.step(tokens, {}, targets, still).applied());
    EXPECT_TRUE(this->same_bits(state.parameters(), parameters)) << "a rate of 0 moves nothing";
}

TEST(HeadScoresEdges, OneHotRowsHaveNoEntropy) {
    Config config = small_config();
    config.num_layers = 1;
    auto parameters = std::make_shared<Parameters<float>>(initial_parameters<float>(config));
    ForwardSettings settings = causal();
    settings.masks.window = 1;  // every position sees only itself
    const auto trace = trace_forward<float>(parameters, {4, {1, 2, 3, 4}, {4}}, {}, settings);
    for (const HeadScore& score : head_scores(trace)) EXPECT_EQ(score.entropy, 0);
}

TEST(CausalAlignment, IsNamed) {
    const Mask left = Mask::causal(2, 5, CausalAlignment::TopLeft), right = Mask::causal(2, 5, CausalAlignment::BottomRight);
    const Mask short_right = Mask::causal(5, 2, CausalAlignment::BottomRight);
    for (std::int64_t s = 0; s < 5; ++s) {
        EXPECT_EQ(left.may_attend(0, 0, 1, s), s <= 1);
        EXPECT_EQ(right.may_attend(0, 0, 1, s), true);
        EXPECT_EQ(right.may_attend(0, 0, 0, s), s <= 3);
    }
    EXPECT_TRUE(short_right.row_fully_masked(0, 0, 2));
    EXPECT_TRUE(short_right.may_attend(0, 0, 4, 1));
    EXPECT_FALSE(right.is_plain_causal());
}

}  // namespace
}  // namespace attn
