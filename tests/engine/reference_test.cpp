// The fast path against the reference: whole models, every stage, every option.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/reference/maths.hpp"
#include "engine/reference/verify.hpp"
#include "engine/tensor/error.hpp"
#include "tests/support/random_model.hpp"

namespace attn::reference {
namespace {

using testing_support::RandomModel;

std::string describe(const Verification& verification) {
    const StageError* failure = verification.first_failure();
    if (failure == nullptr) return "ok";
    return tensor_name(failure->id) + ": " + failure->problem + ", off by " + std::to_string(failure->max_abs) + " at " +
           std::to_string(failure->worst_index);
}

TEST(Reference, FastFloatAgreesWithItOnRandomModels) {
    for (unsigned seed = 0; seed < 300; ++seed) {
        const Verification verification = verify(RandomModel(seed).trace<float>());
        ASSERT_TRUE(verification.ok) << "seed " << seed << " " << describe(verification);
    }
}

TEST(Reference, FastDoubleAgreesWithItOnRandomModels) {
    for (unsigned seed = 0; seed < 300; ++seed) {
        const Verification verification = verify(RandomModel(seed).trace<double>(), 1e-12, 1e-12);
        ASSERT_TRUE(verification.ok) << "seed " << seed << " " << describe(verification);
    }
}

TEST(Reference, AgreesOnModelsWithALlamasParts) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        RandomModel model(seed, true);
        if (seed >= 100) model.settings.mistake = mistakes()[seed % mistakes().size()].mistake;
        const Verification rough = verify(model.trace<float>()), fine = verify(model.trace<double>(), 1e-12, 1e-12);
        ASSERT_TRUE(rough.ok) << "seed " << seed << " " << describe(rough);
        ASSERT_TRUE(fine.ok) << "seed " << seed << " " << describe(fine);
    }
}

// Models in which the last digits of large scores matter: the trace is correct and must not be reported as wrong.
TEST(Reference, RoundingThatAModelAmplifiesIsNoFailure) {
    int amplified = 0;
    for (const unsigned seed : {78U, 138U, 209U, 876U, 1047U, 1054U, 1075U, 1172U, 1182U, 1501U, 1750U, 1954U}) {
        RandomModel model(seed);
        model.unruly = true;
        Trace<float> trace = model.trace<float>();
        const Verification verification = verify(trace);
        EXPECT_TRUE(verification.ok) << "seed " << seed << " " << describe(verification);
        double rounding = 0;
        for (const StageError& stage : verification.stages) rounding = std::max(rounding, stage.rounding);
        if (rounding == 0) continue;
        ++amplified;
        // Errors made before the amplification are still detected.
        for (RecordedStage<float>& stage : trace.stages)
            if (stage.id.stage == Stage::Q && stage.id.layer == 0) stage.value.data()[0] += 0.01F;
        EXPECT_FALSE(verify(trace).ok) << "seed " << seed;
    }
    EXPECT_GT(amplified, 0);
}

TEST(Reference, FastPathAgreesAtTeachingSize) {
    RandomModel model(3);
    model.config = Config{};
    model.config.vocab_size = 50;
    model.config.d_model = 64;
    model.config.d_ff = 256;
    model.settings = {};
    model.settings.masks.causal = true;
    model.source = {};
    model.tokens = {33, {}, {33, 20}};
    for (int i = 0; i < 66; ++i) model.tokens.ids.push_back(static_cast<std::int32_t>(model.between(0, 49)));
    const Verification verification = verify(model.trace<float>());
    EXPECT_TRUE(verification.ok) << describe(verification);
    EXPECT_GT(verification.max_abs, 0);  // float is not double: an error of exactly 0 would mean that nothing was compared
}

TEST(Reference, NanSpreadsAlike) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        const RandomModel model(seed);
        Parameters<double> parameters = model.parameters<double>();
        const std::int64_t row = seed % model.config.vocab_size;
        double* table = parameters.find("token_embedding.weight");
        std::fill_n(table + row * model.config.d_model, model.config.d_model, seed % 2 == 0 ? NAN : INFINITY);
        const auto shared = std::make_shared<const Parameters<double>>(std::move(parameters));
        const Verification verification = verify(trace_forward<double>(shared, model.tokens, model.source, model.settings), 1e-12, 1e-12);
        ASSERT_TRUE(verification.ok) << "seed " << seed << " " << describe(verification);
    }
}

// --- negative controls -----------------------------------------------------------------------------------------------

class Verify : public testing::Test {
protected:
    Trace<float> trace_;

    void SetUp() override {
        Config config;
        config.vocab_size = 9;
        config.d_model = 8;
        config.num_heads = 2;
        config.d_ff = 12;
        ForwardSettings settings;
        settings.masks.causal = true;
        const TokenBatch tokens{4, {1, 2, 3, 4, 5, 6, 0, 0}, {4, 2}};
        trace_ = trace_forward<float>(std::make_shared<const Parameters<float>>(initial_parameters<float>(config)), tokens, {}, settings);
        ASSERT_TRUE(verify(trace_).ok);
    }
    void expect_failure_at(std::size_t stage, const char* why) {
        const Verification verification = verify(trace_);
        EXPECT_FALSE(verification.ok) << why;
        ASSERT_NE(verification.first_failure(), nullptr) << why;
        EXPECT_EQ(verification.first_failure(), &verification.stages.at(stage)) << why << ": " << describe(verification);
        EXPECT_GT(verification.max_abs, 0) << why;
        ASSERT_FALSE(verification.largest.empty());
        EXPECT_EQ(verification.largest.front(), stage) << why;
        EXPECT_TRUE(std::is_sorted(verification.largest.begin(), verification.largest.end(), [&](std::size_t a, std::size_t b) {
            return verification.stages[a].max_abs > verification.stages[b].max_abs;
        }));
    }
};

TEST_F(Verify, SeesOneChangedCellOfAnyStage) {
    const Trace<float> original = trace_;
    for (std::size_t i = 0; i < trace_.stages.size(); ++i)
        for (const double change : {1.0, double(NAN), double(INFINITY)}) {
            trace_ = original;
            float& cell = trace_.stages[i].value.values().back();
            cell = std::isinf(cell) ? 0 : static_cast<float>(cell + change);
            expect_failure_at(i, tensor_name(trace_.stages[i].id).c_str());
        }
}

/// NaN agrees with NaN, but is told.
TEST_F(Verify, CountsWhatIsNaN) {
    EXPECT_EQ(verify(trace_).first_nan(), nullptr);
    auto parameters = initial_parameters<float>(trace_.config);
    parameters.find("token_embedding.weight")[0] = NAN;  // of token 0
    const TokenBatch tokens{2, {1, 0}, {2}};
    trace_ = trace_forward<float>(std::make_shared<const Parameters<float>>(std::move(parameters)), tokens, {}, trace_.settings);
    const Verification verification = verify(trace_);
    EXPECT_TRUE(verification.ok) << describe(verification);
    ASSERT_NE(verification.first_nan(), nullptr);
    EXPECT_EQ(verification.first_nan()->id.stage, Stage::TokenEmbedding);
    EXPECT_EQ(verification.first_nan()->nan, 1);
}

TEST_F(Verify, SeesAMissingStage) {
    trace_.stages.pop_back();
    expect_failure_at(trace_.stages.size(), "the last stage");
    trace_.stages.erase(trace_.stages.begin() + 2);
    expect_failure_at(2, "one in between");
}

TEST_F(Verify, SeesAnExtraStage) {
    trace_.stages.push_back(trace_.stages.back());
    expect_failure_at(trace_.stages.size() - 1, "the last stage twice");
}

TEST_F(Verify, SeesSwappedStages) {
    std::swap(trace_.stages[3], trace_.stages[4]);
    expect_failure_at(3, "swapped");
}

TEST_F(Verify, SeesAnotherShapeAndAnotherMask) {
    Trace<float> original = trace_;
    trace_.stages[2].value = Tensor<float>({{Axis::B, 1}});
    expect_failure_at(2, "shape");
    trace_ = original;
    for (std::size_t i = 0; i < trace_.stages.size(); ++i) {
        if (trace_.stages[i].id.stage != Stage::Weights) continue;
        trace_.stages[i].mask = nullptr;
        expect_failure_at(i, "no mask");
        trace_ = original;
        const Shape& map = trace_.stages[i].value.shape();
        Mask other = *trace_.stages[i].mask;
        const std::vector<std::uint8_t> nowhere(static_cast<std::size_t>(map[2].size * map[3].size), 0);
        other = other.combined_with(
            Mask::from_sdpa_bool({map[2].size, map[3].size}, nowhere, {map[0].size, map[1].size, map[2].size, map[3].size}));
        trace_.stages[i].mask = std::make_shared<const Mask>(other);
        expect_failure_at(i, "another mask");
        return;
    }
    FAIL() << "the model has no weights";
}

TEST_F(Verify, SeesOtherSettings) {
    trace_.settings.temperature = 2;
    EXPECT_FALSE(verify(trace_).ok);
}

TEST_F(Verify, StopsWhenAsked) {
    std::stop_source stop;
    stop.request_stop();
    EXPECT_THROW(verify(trace_, kFloatAtol, kFloatRtol, stop.get_token()), Cancelled);
}

// --- by hand -----------------------------------------------------------------------------------------------------------

TEST(ReferenceMaths, NormActivationAndSoftmaxByHand) {
    Tensor<double> x({{Axis::B, 1}, {Axis::T, 1}, {Axis::C, 4}});
    const double values[] = {1, 2, 3, 6}, gamma[] = {1, 1, 2, 1}, beta[] = {0, 0, 0, 5};
    std::copy(values, values + 4, x.data());
    const Tensor<double> normed = layer_norm(x, gamma, beta, 0.5);  // mean 3, variance 3.5, so divided by 2
    EXPECT_DOUBLE_EQ(normed(0, 0, 0), -1);
    EXPECT_DOUBLE_EQ(normed(0, 0, 1), -0.5);
    EXPECT_DOUBLE_EQ(normed(0, 0, 2), 0);
    EXPECT_DOUBLE_EQ(normed(0, 0, 3), 6.5);
    EXPECT_EQ(activate(Activation::Relu, -2), 0);
    EXPECT_EQ(activate(Activation::Relu, 2), 2);
    EXPECT_NEAR(activate(Activation::GeluErf, 1), 0.8413447460685429, 1e-15);    // 1 · Φ(1)
    EXPECT_NEAR(activate(Activation::GeluTanh, 1), 0.8411919906082768, 1e-15);   // ½ (1 + tanh(√(2/π) 1.044715))
    EXPECT_NEAR(activate(Activation::QuickGelu, 1), 0.8457957659328212, 1e-15);  // 1 / (1 + e^-1.702)
    EXPECT_EQ(activate(Activation::GeluClipped, 12), 10);
    EXPECT_EQ(activate(Activation::GeluClipped, 1), activate(Activation::GeluErf, 1));
    const Tensor<double> p = softmax(x);
    EXPECT_NEAR(p(0, 0, 3) / p(0, 0, 0), std::exp(5), 1e-10);
    EXPECT_NEAR(p(0, 0, 0) + p(0, 0, 1) + p(0, 0, 2) + p(0, 0, 3), 1, 1e-15);
}

/// One query over four keys, masked as in `keep`.
Tensor<double> weights_of(const std::vector<double>& scores, std::vector<std::uint8_t> keep) {
    const auto n = static_cast<std::int64_t>(scores.size());
    Tensor<double> masked({{Axis::B, 1}, {Axis::H, 1}, {Axis::T, 1}, {Axis::S, n}});
    std::copy(scores.begin(), scores.end(), masked.data());
    return attention_weights(masked, Permissions{1, 1, 1, n, std::move(keep), {}}, 1);
}

TEST(ReferenceMaths, RowsThatCannotBeNormalised) {
    const double inf = INFINITY;
    for (const Tensor<double>& row : {weights_of({1, 2, 3}, {0, 0, 0}), weights_of({-inf, -inf, -inf}, {1, 1, 1})})
        for (const double weight : row.values()) EXPECT_EQ(weight, 0);
    const Tensor<double> poisoned = weights_of({1, NAN, 3, 4}, {1, 1, 1, 0});
    EXPECT_TRUE(std::isnan(poisoned.data()[0]) && std::isnan(poisoned.data()[1]) && std::isnan(poisoned.data()[2]));
    EXPECT_EQ(poisoned.data()[3], 0);
    const Tensor<double> healthy = weights_of({1, NAN, 1}, {1, 0, 1});
    EXPECT_EQ(healthy.data()[0], 0.5);
    EXPECT_EQ(healthy.data()[1], 0);
    EXPECT_TRUE(std::isnan(weights_of({1, inf}, {1, 1}).data()[1]));
    EXPECT_EQ(weights_of({1e4, 0}, {1, 1}).data()[0], 1);
}

TEST(ReferenceMaths, RefusesBatchesThatCannotBe) {
    const RandomModel model(0);
    const Parameters<double> parameters = model.parameters<double>();
    TokenBatch outside = model.tokens;
    outside.ids.front() = static_cast<std::int32_t>(model.config.vocab_size);
    EXPECT_THROW(forward(parameters, outside, model.source, model.settings), Error);
    TokenBatch incomplete = model.tokens;
    incomplete.ids.pop_back();
    EXPECT_THROW(forward(parameters, incomplete, model.source, model.settings), ShapeError);
}

}  // namespace
}  // namespace attn::reference
