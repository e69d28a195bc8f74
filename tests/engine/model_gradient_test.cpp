#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>

#include "engine/model/model_pass.hpp"
#include "engine/model/transformer.hpp"
#include "engine/plan/mistake.hpp"
#include "engine/tensor/error.hpp"
#include "tests/engine/gradient_check.hpp"

namespace attn {
namespace {

struct Case {
    std::string name;
    Config config;
    ForwardSettings settings;
};

std::vector<Case> cases() {
    std::vector<Case> out;
    Config base;
    base.vocab_size = 7;
    base.context_length = 6;
    base.d_model = 6;
    base.num_heads = 2;
    base.d_ff = 5;
    base.num_layers = 2;
    base.layer_norm_eps = 1e-2;
    const auto with = [&](std::string name, auto change) {
        Case next{std::move(name), base, {}};
        next.settings.masks.causal = true;
        change(next);
        out.push_back(next);
    };
    with("pre-norm", [](Case&) {});
    with("post-norm", [](Case& c) { c.config.norm = NormPlacement::Post, c.config.activation = Activation::GeluErf; });
    with("no norm", [](Case& c) { c.config.norm = NormPlacement::None, c.config.final_norm = false; });
    with("untied", [](Case& c) { c.config.tied_lm_head = false, c.config.position = PositionKind::Sinusoidal; });
    with("no residual", [](Case& c) { c.config.residual = false, c.config.num_layers = 1; });
    with("no residual, post-norm", [](Case& c) { c.config.residual = false, c.config.norm = NormPlacement::Post; });
    with("no projection", [](Case& c) { c.config.output_projection = false; });
    with("no projection, no residual, post-norm", [](Case& c) {
        c.config.output_projection = c.config.residual = false;
        c.config.norm = NormPlacement::Post;
    });
    with("no feed-forward", [](Case& c) { c.config.feed_forward = false; });
    with("no biases, wide heads", [](Case& c) { c.config.qkv_bias = c.config.output_bias = false, c.config.d_head = 5; });
    with("dropout", [](Case& c) { c.settings.dropout = {.attention = 0.3, .residual = 0.2, .embedding = 0.2, .seed = 4}; });
    with("dropout, post-norm", [](Case& c) {
        c.config.norm = NormPlacement::Post;
        c.settings.dropout = {.attention = 0.3, .residual = 0.2, .embedding = 0.2, .seed = 4};
    });
    with("a fully masked row, temperature", [](Case& c) {
        c.settings.masks = {};
        c.settings.temperature = 0.6;
        for (int s = 0; s < 6; ++s) c.settings.masks.painted.push_back({1, s});
    });
    for (const NormPlacement norm : {NormPlacement::None, NormPlacement::Pre, NormPlacement::Post})
        with("encoder-decoder", [norm](Case& c) {
            c.config.architecture = Architecture::EncoderDecoder;
            c.config.norm = norm;
            c.config.num_layers = norm == NormPlacement::None ? 1 : 2;
            c.config.final_norm = norm == NormPlacement::Pre;
        });
    const auto modern = [](Case& c) {
        c.config.d_model = 8;
        c.config.num_heads = 4;
        c.config.num_kv_heads = 2;
        c.config.norm_kind = NormKind::Rms;
        c.config.activation = Activation::Silu;
        c.config.ffn_gated = true;
        c.config.ffn_bias = c.config.qkv_bias = c.config.output_bias = false;
        c.config.position = PositionKind::Rotary;
        c.config.rotary_base = 7;
    };
    with("grouped heads", [](Case& c) { c.config.d_model = 8, c.config.num_heads = 4, c.config.num_kv_heads = 2; });
    with("one head of keys, no mask", [](Case& c) { c.config.num_kv_heads = 1, c.settings.masks = {}; });
    with("RMS norm", [](Case& c) { c.config.norm_kind = NormKind::Rms; });
    with("RMS norm, post-norm", [](Case& c) { c.config.norm_kind = NormKind::Rms, c.config.norm = NormPlacement::Post; });
    with("gated", [](Case& c) { c.config.ffn_gated = true; });
    with("gated by ReLU, no norm", [](Case& c) {
        c.config.ffn_gated = true;
        c.config.activation = Activation::Relu;
        c.config.norm = NormPlacement::None;
    });
    with("rotary", [](Case& c) { c.config.d_head = 4, c.config.position = PositionKind::Rotary; });
    with("all of them", modern);
    with("all of them with dropout, untied", [&](Case& c) {
        modern(c);
        c.config.tied_lm_head = false;
        c.settings.dropout = {.attention = 0.3, .residual = 0.2, .embedding = 0.2, .seed = 4};
    });
    with("all of them in an encoder-decoder", [&](Case& c) {
        modern(c);
        c.config.architecture = Architecture::EncoderDecoder;
        c.config.norm = NormPlacement::Post;
    });
    with("sandwich norms, 1 + gain", [](Case& c) { c.config.norm = NormPlacement::Sandwich, c.config.norm_kind = NormKind::RmsPlusOne; });
    with("norms of results", [](Case& c) { c.config.norm = NormPlacement::Output, c.config.norm_kind = NormKind::Rms; });
    with("parallel blocks", [](Case& c) { c.config.order = BlockOrder::Parallel; });
    with("parallel blocks with dropout", [](Case& c) {
        c.config.order = BlockOrder::Parallel;
        c.settings.dropout = {.attention = 0.3, .residual = 0.2, .embedding = 0.2, .seed = 4};
    });
    with("parallel blocks, one norm, partly rotary", [](Case& c) {
        c.config.order = BlockOrder::ParallelOneNorm;
        c.config.position = PositionKind::Rotary;
        c.config.d_head = 6;
        c.config.rotary_size = 4;
    });
    with("norms of queries and keys", [&](Case& c) { modern(c), c.config.qk_norm = QueryKeyNorm::PerHead; });
    with("norms of all heads", [&](Case& c) { modern(c), c.config.qk_norm = QueryKeyNorm::AllHeads; });
    with("norms of queries and keys, 1 + gain, no positions", [](Case& c) {
        c.config.norm_kind = NormKind::RmsPlusOne;
        c.config.qk_norm = QueryKeyNorm::PerHead;
        c.config.position = PositionKind::None;
    });
    with("caps", [](Case& c) { c.config.score_cap = 0.5, c.config.logit_cap = 1.5, c.config.score_factor = 0.9; });
    with("distances counted", [](Case& c) { c.config.position = PositionKind::Alibi, c.config.num_heads = 3; });
    with("distances scaled", [](Case& c) { c.config.position = PositionKind::Alibi, c.config.scaled_alibi = true; });
    with("added to the norm", [](Case& c) { c.config.residual_from_norm = true; });
    with("windows and rotary positions that differ from layer to layer", [](Case& c) {
        c.config.d_head = 4;
        c.config.position = PositionKind::Rotary;
        c.config.rotary_local_base = 20;
        c.config.layer_kinds = {{2, LayerRotary::Local}, {0, LayerRotary::None}};
    });
    with("stretched rotary positions", [](Case& c) {
        c.config.d_head = 4;
        c.config.position = PositionKind::Rotary;
        c.config.rotary_stretch = {
            .kind = RotaryScaling::Yarn, .factor = 2, .low = 0.1, .high = 1, .original_context = 6, .amplitude = 1.3};
    });
    with("a narrow embedding", [](Case& c) { c.config.d_embedding = 4, c.config.embedding_factor = 1.7; });
    with("a norm of the embedding, a head with bias", [](Case& c) { c.config.embedding_norm = c.config.lm_head_bias = true; });
    with("a narrow embedding, a head of its own", [](Case& c) {
        c.config.d_embedding = 8;
        c.config.tied_lm_head = false;
        c.config.lm_head_bias = true;
    });
    with("a head with a map before it, parts of the text", [](Case& c) {
        c.config.architecture = Architecture::Encoder;
        c.config.norm = NormPlacement::Post;
        c.config.final_norm = false;
        c.config.head_transform = c.config.lm_head_bias = c.config.embedding_norm = true;
        c.config.num_segments = 2;
        c.settings.masks.causal = false;
    });
    with("ranges of distances, stacks that differ", [](Case& c) {
        c.config.architecture = Architecture::EncoderDecoder;
        c.config.norm_kind = NormKind::Rms;
        c.config.position = PositionKind::Buckets;
        c.config.position_buckets = 6;
        c.config.position_distance = 5;
        c.config.score_factor = 1;
        c.config.head_factor = 0.6;
        c.config.encoder_layers = 1;
        c.config.encoder_ff = 3;
    });
    with("positions of each stack", [](Case& c) {
        c.config.architecture = Architecture::EncoderDecoder;
        c.config.norm = NormPlacement::Post;
        c.config.stack_positions = c.config.embedding_norm = true;
    });
    with("decoder that reads the source's embedding", [](Case& c) {
        c.config.architecture = Architecture::EncoderDecoder;
        c.config.encoder_layers = kNoLayers;
    });
    with("encoder-decoder without feed-forward", [](Case& c) {
        c.config.architecture = Architecture::EncoderDecoder;
        c.config.feed_forward = c.config.final_norm = false;
    });
    return out;
}

const TokenBatch kGradientTokens{5, {1, 4, 2, 6, 3, 5, 5, 0, 0, 0}, {5, 3}};
const TokenBatch kGradientSource{4, {2, 3, 1, 6, 4, 4, 0, 0}, {4, 2}};
const std::vector<std::int32_t> kGradientTargets{4, 2, 6, 3, 0, 5, 1, kIgnoredTarget, kIgnoredTarget, kIgnoredTarget};

TEST(ModelGradients, OfEveryParameter) {
    // With the other kernel builds (see every_kernel_build_test.cpp), a sample: most of what is tested here is not in the kernels.
    const std::size_t stride = std::getenv("ATTNSCOPE_KERNELS") != nullptr ? 5 : 1;
    for (const Case& c : cases()) {
        SCOPED_TRACE(c.name);
        Parameters<double> parameters = initial_parameters<double>(c.config);
        const auto trace = trace_gradients<double>(parameters, kGradientTokens, kGradientSource, kGradientTargets, c.settings);
        ModelPass<double> pass(parameters);
        Tap<double> none;
        const auto loss = [&] {
            pass.forward(kGradientTokens, kGradientSource, c.settings, none);
            return pass.loss(kGradientTargets).loss;
        };
        EXPECT_NEAR(loss(), trace.loss, 1e-14);
        EXPECT_EQ(trace.counted, 7);
        for (const ParameterInfo& info : parameters.layout().entries()) {
            const std::size_t n = static_cast<std::size_t>(info.shape.count());
            const double worst =
                worst_gradient_error({parameters.data() + info.offset, n}, {trace.parameters->data() + info.offset, n}, loss, stride);
            EXPECT_TRUE(worst <= kGradientTolerance) << info.name << " " << worst;
        }
    }
}

TEST(ModelGradients, AreTheSameFusedAndStageByStage) {
    for (const Case& c : cases()) {
        SCOPED_TRACE(c.name);
        const Parameters<double> parameters = initial_parameters<double>(c.config);
        const auto staged = trace_gradients<double>(parameters, kGradientTokens, kGradientSource, kGradientTargets, c.settings);
        ModelPass<double> pass(parameters);
        Tap<double> none;
        for (int round = 0; round < 2; ++round) {  // the second time in memory used by the first
            pass.forward(kGradientTokens, kGradientSource, c.settings, none);
            pass.loss(kGradientTargets);
            pass.backward(none);
            for (std::int64_t i = 0; i < parameters.count(); ++i)
                ASSERT_TRUE(std::abs(pass.gradients().data()[i] - staged.parameters->data()[i]) <= 1e-13) << i;
        }
    }
}

/// Compares the results of a pass over NaN-filled memory with one over zeroed memory.
void expect_replaced(const Case& c, const TokenBatch& tokens, const TokenBatch& source, std::span<const std::int32_t> targets) {
    const Parameters<double> parameters = initial_parameters<double>(c.config);
    Gradients<double> clean(c.config), used(c.config);
    std::fill(used.values.data(), used.values.data() + used.values.count(), std::nan(""));
    ModelPass<double> pass(parameters);
    Tap<double> none;
    pass.forward(tokens, source, c.settings, none);
    pass.loss(targets);
    pass.backward(none, clean, true);
    pass.backward(none, used, true);
    for (const ParameterInfo& info : parameters.layout().entries()) {
        const double *expected = clean.values.data() + info.offset, *found = used.values.data() + info.offset;
        EXPECT_TRUE(std::equal(expected, expected + info.shape.count(), found)) << info.name;
    }
}

TEST(ModelGradients, ReplaceWhatAnotherPassLeft) {
    for (Case& c : cases()) {
        SCOPED_TRACE(c.name);
        expect_replaced(c, kGradientTokens, kGradientSource, kGradientTargets);
        expect_replaced(c, {kGradientTokens.length, {}, {}}, {kGradientSource.length, {}, {}}, {});
    }
    for (const MistakeInfo& info : mistakes()) {
        SCOPED_TRACE(info.name);
        for (Case& c : cases()) {
            if (c.name != "pre-norm" && c.name != "all of them") continue;
            c.settings.mistake = info.mistake;
            expect_replaced(c, kGradientTokens, kGradientSource, kGradientTargets);
        }
    }
}

TEST(ModelGradients, OfASecondPassAreAddedUnlessItIsFresh) {
    for (const Case& c : cases()) {
        SCOPED_TRACE(c.name);
        const Parameters<double> parameters = initial_parameters<double>(c.config);
        Gradients<double> once(c.config), twice(c.config);
        ModelPass<double> pass(parameters);
        Tap<double> none;
        pass.forward(kGradientTokens, kGradientSource, c.settings, none);
        pass.loss(kGradientTargets);
        pass.backward(none, once, true);
        pass.backward(none, twice, true);
        pass.backward(none, twice, false);
        for (std::int64_t i = 0; i < parameters.count(); ++i)
            ASSERT_TRUE(std::abs(twice.values.data()[i] - 2 * once.values.data()[i]) <= 1e-13) << i;
    }
}

/// Every stage of the forward pass except the tokens has a gradient of its shape, in the same order.
TEST(ModelGradients, CoverEveryStage) {
    for (const Case& c : cases()) {
        SCOPED_TRACE(c.name);
        const auto parameters = std::make_shared<const Parameters<double>>(initial_parameters<double>(c.config));
        const auto values = trace_forward<double>(parameters, kGradientTokens, kGradientSource, c.settings);
        const auto gradients = trace_gradients<double>(*parameters, kGradientTokens, kGradientSource, kGradientTargets, c.settings);
        std::size_t at = 0;
        for (const auto& stage : values.stages) {
            if (stage.id.stage == Stage::Tokens) continue;
            ASSERT_LT(at, gradients.stages.size());
            EXPECT_EQ(tensor_name(gradients.stages[at].id), tensor_name(stage.id));
            EXPECT_EQ(gradients.stages[at].value.shape(), stage.value.shape()) << tensor_name(stage.id);
            EXPECT_EQ(gradients.stages[at].mask != nullptr, stage.mask != nullptr);
            ++at;
        }
        EXPECT_EQ(at, gradients.stages.size());
    }
}

/// A bias is added to every row of a stage, so its gradient (checked by differences above) is the sum of the stage's.
TEST(ModelGradients, OfStagesSumUpToThoseOfTheirBiases) {
    for (const Case& c : cases()) {
        SCOPED_TRACE(c.name);
        if (c.config.architecture == Architecture::EncoderDecoder) continue;
        const Parameters<double> parameters = initial_parameters<double>(c.config);
        const auto trace = trace_gradients<double>(parameters, kGradientTokens, kGradientSource, kGradientTargets, c.settings);
        const auto expect_sum = [&](Stage stage, const std::string& name) {
            const auto* recorded = trace.find({stage, is_layer_stage(stage) ? 0 : -1});
            const double* bias = trace.parameters->find(name);
            if (recorded == nullptr || bias == nullptr) return;
            const std::int64_t width = recorded->value.shape()[recorded->value.shape().rank() - 1].size;
            for (std::int64_t i = 0; i < width; ++i) {
                double sum = 0;
                for (std::int64_t at = i; at < recorded->value.size(); at += width) sum += recorded->value.data()[at];
                EXPECT_NEAR(sum, bias[i], 1e-13) << name;
            }
        };
        expect_sum(Stage::Norm1, "layers.0.norm_1.bias");
        expect_sum(Stage::AttentionOut, "layers.0.attention.out.bias");
        expect_sum(Stage::Norm2, "layers.0.norm_2.bias");
        expect_sum(Stage::FfnHidden, "layers.0.ffn.in.bias");
        expect_sum(Stage::FfnOut, "layers.0.ffn.out.bias");
        expect_sum(Stage::FinalNorm, "final_norm.bias");
    }
}

TEST(ModelGradients, AreZeroWhenThereIsNothingToPredict) {
    const Parameters<float> parameters = initial_parameters<float>(cases()[0].config);
    const auto trace = trace_gradients<float>(parameters, kGradientTokens, {}, std::vector<std::int32_t>(10, kIgnoredTarget), {});
    EXPECT_EQ(trace.counted, 0);
    EXPECT_EQ(trace.loss, 0);
    for (std::int64_t i = 0; i < parameters.count(); ++i) ASSERT_EQ(trace.parameters->data()[i], 0);
    EXPECT_THROW(trace_gradients<float>(parameters, kGradientTokens, {}, std::vector<std::int32_t>(9, 0), {}), ShapeError);
}

}  // namespace
}  // namespace attn
