#include "engine/model/transformer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "engine/ops/parallel.hpp"

namespace attn {
namespace {

Config small_config(NormPlacement norm = NormPlacement::Pre) {
    Config config;
    config.vocab_size = 13;
    config.context_length = 40;
    config.d_model = 20;
    config.num_heads = 4;
    config.num_layers = 2;
    config.d_ff = 36;
    config.norm = norm;
    return config;
}

TokenBatch batch_of(std::vector<std::vector<std::int32_t>> texts, std::int32_t pad = 0) {
    TokenBatch batch;
    for (const auto& text : texts) batch.length = std::max(batch.length, static_cast<std::int64_t>(text.size()));
    for (auto& text : texts) {
        batch.lengths.push_back(static_cast<std::int64_t>(text.size()));
        text.resize(static_cast<std::size_t>(batch.length), pad);
        batch.ids.insert(batch.ids.end(), text.begin(), text.end());
    }
    return batch;
}

std::vector<std::int32_t> random_text(std::size_t length, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::int32_t> text(length);
    for (auto& id : text) id = static_cast<std::int32_t>(random() % 13);
    return text;
}

template <class Scalar>
std::shared_ptr<Parameters<Scalar>> fresh(const Config& config) {
    return std::make_shared<Parameters<Scalar>>(initial_parameters<Scalar>(config));
}

template <class Scalar>
Trace<Scalar> run(const Config& config, const TokenBatch& tokens, const ForwardSettings& settings = {}, const TokenBatch& source = {}) {
    return trace_forward<Scalar>(fresh<Scalar>(config), tokens, source, settings);
}

ForwardSettings causal() {
    ForwardSettings settings;
    settings.masks.causal = true;
    return settings;
}

template <class Scalar>
bool same_bits(const Scalar* a, const Scalar* b, std::int64_t n) {
    return std::memcmp(a, b, static_cast<std::size_t>(n) * sizeof(Scalar)) == 0;
}

template <class Scalar>
bool same_bits(const Trace<Scalar>& a, const Trace<Scalar>& b) {
    if (a.stages.size() != b.stages.size()) return false;
    for (std::size_t i = 0; i < a.stages.size(); ++i)
        if (a.stages[i].value.shape() != b.stages[i].value.shape() ||
            !same_bits(a.stages[i].value.data(), b.stages[i].value.data(), a.stages[i].value.size()))
            return false;
    return true;
}

template <class Scalar>
const Tensor<Scalar>& value(const Trace<Scalar>& trace, StageId id) {
    const auto* stage = trace.find(id);
    if (stage == nullptr) throw Error("no stage " + tensor_name(id));
    return stage->value;
}

std::vector<std::string> names(const Trace<float>& trace) {
    std::vector<std::string> out;
    for (const auto& stage : trace.stages) out.push_back(tensor_name(stage.id));
    return out;
}

std::vector<Config> every_shape_of_model() {
    std::vector<Config> configs;
    for (const Architecture architecture : {Architecture::DecoderOnly, Architecture::EncoderDecoder})
        for (const NormPlacement norm : {NormPlacement::None, NormPlacement::Pre, NormPlacement::Post})
            for (const PositionKind position : {PositionKind::None, PositionKind::Learned, PositionKind::Sinusoidal}) {
                Config config = small_config(norm);
                config.architecture = architecture;
                config.position = position;
                config.activation = static_cast<Activation>(configs.size() % 3);
                config.tied_lm_head = configs.size() % 2 == 0;
                config.d_head = configs.size() % 4 == 3 ? 7 : 0;
                configs.push_back(config);
            }
    return configs;
}

template <class Scalar>
class Transformer : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(Transformer, Scalars);

TEST(TransformerStages, AppearInTheOrderOfComputation) {
    Config config = small_config();
    config.num_layers = 1;
    EXPECT_EQ(names(run<float>(config, batch_of({{1, 2, 3}}))), (std::vector<std::string>{"tokens",
                                                                                          "token_embedding",
                                                                                          "position_embedding",
                                                                                          "embedding",
                                                                                          "layers.0.norm_1",
                                                                                          "layers.0.attention.q",
                                                                                          "layers.0.attention.k",
                                                                                          "layers.0.attention.v",
                                                                                          "layers.0.attention.scores",
                                                                                          "layers.0.attention.scaled",
                                                                                          "layers.0.attention.masked",
                                                                                          "layers.0.attention.weights",
                                                                                          "layers.0.attention.dropped",
                                                                                          "layers.0.attention.context",
                                                                                          "layers.0.attention.concat",
                                                                                          "layers.0.attention_out",
                                                                                          "layers.0.residual_1",
                                                                                          "layers.0.norm_2",
                                                                                          "layers.0.ffn_hidden",
                                                                                          "layers.0.ffn_activation",
                                                                                          "layers.0.ffn_out",
                                                                                          "layers.0.residual_2",
                                                                                          "final_norm",
                                                                                          "logits",
                                                                                          "probabilities"}));
    config.norm = NormPlacement::Post;
    const auto post = names(run<float>(config, batch_of({{1, 2, 3}})));
    const auto at = [&](const char* name) { return std::find(post.begin(), post.end(), name) - post.begin(); };
    EXPECT_LT(at("layers.0.residual_1"), at("layers.0.norm_1"));
    EXPECT_LT(at("layers.0.norm_1"), at("layers.0.ffn_hidden"));
    EXPECT_LT(at("layers.0.residual_2"), at("layers.0.norm_2"));
}

TEST(TransformerStages, OfPartsThatAModelLacksAreAbsent) {
    Config config = small_config(NormPlacement::None);
    config.num_layers = 1;
    config.output_projection = config.residual = config.feed_forward = config.final_norm = config.lm_head = false;
    config.position = PositionKind::None;
    EXPECT_EQ(names(run<float>(config, batch_of({{1, 2, 3}}))),
              (std::vector<std::string>{"tokens", "token_embedding", "embedding", "layers.0.attention.q", "layers.0.attention.k",
                                        "layers.0.attention.v", "layers.0.attention.scores", "layers.0.attention.scaled",
                                        "layers.0.attention.masked", "layers.0.attention.weights", "layers.0.attention.dropped",
                                        "layers.0.attention.context", "layers.0.attention.concat"}));
}

TEST(TransformerStages, OfAnEncoderDecoderNameTheirStack) {
    Config config = small_config();
    config.architecture = Architecture::EncoderDecoder;
    const auto trace = run<float>(config, batch_of({{1, 2, 3}}), causal(), batch_of({{4, 5, 6, 7, 8}}));
    EXPECT_EQ(value(trace, {Stage::Weights, 1, Stack::Decoder, kCrossAttention}).shape().text(), "[B=1, H=4, T=3, S=5]");
    EXPECT_EQ(value(trace, {Stage::Weights, 1, Stack::Decoder}).shape().text(), "[B=1, H=4, T=3, S=3]");
    EXPECT_EQ(value(trace, {Stage::Weights, 1, Stack::Encoder}).shape().text(), "[B=1, H=4, T=5, S=5]");
    EXPECT_EQ(value(trace, {Stage::Logits, -1, Stack::Decoder}).shape().text(), "[B=1, T=3, V=13]");
    EXPECT_EQ(trace.find({Stage::Q, 0, Stack::Encoder, kCrossAttention}), nullptr);
    EXPECT_EQ(trace.find({Stage::FinalNorm, -1, Stack::Main}), nullptr);
    EXPECT_TRUE(trace.find({Stage::Weights, 0, Stack::Encoder})->mask->allows_everything()) << "the encoder is not causal";
    EXPECT_EQ(trace.source_tokens.length, 5);
}

TYPED_TEST(Transformer, WeightsAreProbabilitiesAndMaskedCellsExactlyZero) {
    for (const Config& config : every_shape_of_model()) {
        const auto trace = run<TypeParam>(config, batch_of({random_text(9, 1), random_text(5, 2)}), causal(),
                                          batch_of({random_text(4, 3), random_text(6, 4)}));
        for (const auto& stage : trace.stages) {
            const Stage self = stage.id.stage;
            EXPECT_EQ(stage.mask != nullptr, self == Stage::Masked || self == Stage::Weights || self == Stage::Dropped);
            if (self != Stage::Masked && self != Stage::Weights) continue;
            const Shape& shape = stage.value.shape();
            for (std::int64_t b = 0; b < shape[0].size; ++b)
                for (std::int64_t h = 0; h < shape[1].size; ++h)
                    for (std::int64_t t = 0; t < shape[2].size; ++t) {
                        double sum = 0;
                        for (std::int64_t s = 0; s < shape[3].size; ++s) {
                            const double cell = stage.value(b, h, t, s);
                            sum += cell;
                            if (!stage.mask->may_attend(b, h, t, s)) {
                                EXPECT_EQ(cell, self == Stage::Weights ? 0.0 : -std::numeric_limits<double>::infinity());
                            }
                        }
                        EXPECT_TRUE(self == Stage::Masked || std::abs(sum - 1) <= 1e-6) << tensor_name(stage.id) << " " << sum;
                    }
        }
    }
}

TYPED_TEST(Transformer, ALaterTokenLeavesEarlierOutputsBitIdentical) {
    for (const Config& config : every_shape_of_model()) {
        const std::int64_t length = 37;
        auto text = random_text(static_cast<std::size_t>(length), 5);
        const TokenBatch source = batch_of({random_text(6, 6)});
        const auto before = run<TypeParam>(config, batch_of({text}), causal(), source);
        for (const std::int64_t changed : {1, 18, 36}) {
            auto other = text;
            other[static_cast<std::size_t>(changed)] = (other[static_cast<std::size_t>(changed)] + 1) % 13;
            const auto after = run<TypeParam>(config, batch_of({other}), causal(), source);
            const StageId logits{Stage::Logits, -1, config.architecture == Architecture::EncoderDecoder ? Stack::Decoder : Stack::Main};
            const auto &a = value(before, logits), &b = value(after, logits);
            EXPECT_TRUE(same_bits(a.data(), b.data(), changed * 13));
            EXPECT_FALSE(same_bits(a.data() + changed * 13, b.data() + changed * 13, 13));
        }
    }
}

TYPED_TEST(Transformer, ASequencePaddedInABatchEqualsItselfAlone) {
    for (const Config& config : every_shape_of_model()) {
        const auto text = random_text(7, 7), source = random_text(3, 8);
        const auto alone = run<TypeParam>(config, batch_of({text}), causal(), batch_of({source}));
        const auto padded = run<TypeParam>(config, batch_of({random_text(21, 9), text}), causal(), batch_of({random_text(9, 10), source}));
        const StageId logits{Stage::Logits, -1, config.architecture == Architecture::EncoderDecoder ? Stack::Decoder : Stack::Main};
        EXPECT_TRUE(same_bits(value(alone, logits).data(), &value(padded, logits).data()[21 * 13], 7 * 13));
    }
}

TYPED_TEST(Transformer, GivesTheSameBitsForAnyNumberOfThreads) {
    Config config = small_config();
    config.d_model = 128;
    config.d_ff = 512;
    config.context_length = 64;
    const TokenBatch tokens = batch_of({random_text(64, 11), random_text(50, 12), random_text(64, 13)});
    ForwardSettings settings = causal();
    settings.dropout = {.attention = 0.2, .residual = 0.1, .embedding = 0.1, .seed = 3};
    const auto run_by = [&](int threads) {
        const ThreadScope scope(threads);
        return run<TypeParam>(config, tokens, settings);
    };
    const auto one = run_by(1);
    for (const int threads : {2, 3, 4}) EXPECT_TRUE(same_bits(one, run_by(threads))) << threads;
}

TYPED_TEST(Transformer, DropoutIsSeededScaledAndOffAtZero) {
    const Config config = small_config();
    const TokenBatch tokens = batch_of({random_text(30, 14)});
    const auto plain = run<TypeParam>(config, tokens);
    ForwardSettings settings;
    settings.dropout.seed = 5;
    EXPECT_TRUE(same_bits(plain, run<TypeParam>(config, tokens, settings))) << "rate 0 is the identity";
    settings.dropout.attention = 0.5;
    const auto first = run<TypeParam>(config, tokens, settings), again = run<TypeParam>(config, tokens, settings);
    EXPECT_TRUE(same_bits(first, again));
    settings.dropout.seed = 6;
    EXPECT_FALSE(same_bits(first, run<TypeParam>(config, tokens, settings)));
    const auto &weights = value(first, {Stage::Weights, 0}), &dropped = value(first, {Stage::Dropped, 0});
    std::int64_t zeros = 0;
    for (std::int64_t i = 0; i < weights.size(); ++i) {
        EXPECT_TRUE(dropped.data()[i] == 0 || dropped.data()[i] == 2 * weights.data()[i]);
        zeros += dropped.data()[i] == 0;
    }
    EXPECT_TRUE(std::abs(static_cast<double>(zeros) / static_cast<double>(weights.size()) - 0.5) < 0.05) << zeros;
    settings.dropout.attention = 1;
    const auto all = run<TypeParam>(config, tokens, settings);
    for (const TypeParam x : value(all, {Stage::Dropped, 0}).values()) EXPECT_EQ(x, 0);
    for (const TypeParam x : value(all, {Stage::Context, 0}).values()) EXPECT_EQ(x, 0);
    for (const double bad : {-0.1, 1.1, std::nan("")}) {
        settings.dropout.attention = bad;
        EXPECT_THROW(run<TypeParam>(config, tokens, settings), ConfigError);
    }
}

TYPED_TEST(Transformer, AFullyMaskedRowIsExactlyZeroAndFlagged) {
    ForwardSettings settings;
    for (int key = 0; key < 5; ++key) settings.masks.painted.push_back({2, key});
    const auto trace = run<TypeParam>(small_config(), batch_of({random_text(5, 15)}), settings);
    for (int h = 0; h < 4; ++h) {
        EXPECT_TRUE(trace.find({Stage::Weights, 0})->mask->row_fully_masked(0, h, 2));
        for (int s = 0; s < 5; ++s) EXPECT_EQ(value(trace, {Stage::Weights, 0})(0, h, 2, s), 0);
        for (int d = 0; d < 5; ++d) EXPECT_EQ(value(trace, {Stage::Context, 0})(0, h, 2, d), 0);
    }
    for (const TypeParam x : value(trace, {Stage::Logits, -1}).values()) EXPECT_TRUE(std::isfinite(x));
}

TYPED_TEST(Transformer, ANanBehindTheMaskHasNoEffectAndOneInFrontStaysInItsRows) {
    for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
        const Config config = small_config();
        auto parameters = fresh<TypeParam>(config);
        parameters->find("token_embedding.weight")[12 * 20 + 3] = static_cast<TypeParam>(bad);
        const auto run_with = [&](std::vector<std::int32_t> text) {
            return trace_forward<TypeParam>(parameters, batch_of({std::move(text)}), {}, causal());
        };
        const auto clean = run_with({1, 2, 3, 4, 5, 6}), bitten = run_with({1, 2, 3, 12, 5, 6});
        for (const StageId id : {StageId{Stage::Context, 0}, StageId{Stage::Context, 1}})
            for (int h = 0; h < 4; ++h)
                for (int t = 0; t < 6; ++t)
                    for (int d = 0; d < 5; ++d) {
                        if (t < 3) EXPECT_EQ(value(bitten, id)(0, h, t, d), value(clean, id)(0, h, t, d)) << tensor_name(id);
                        else EXPECT_TRUE(std::isnan(value(bitten, id)(0, h, t, d))) << tensor_name(id);
                    }
        EXPECT_TRUE(same_bits(value(clean, {Stage::FfnOut, 1}).data(), value(bitten, {Stage::FfnOut, 1}).data(), 3 * 20));
    }
}

TYPED_TEST(Transformer, OneTokenAttendsToItselfExactly) {
    const auto trace = run<TypeParam>(small_config(), batch_of({{3}}), causal());
    for (const TypeParam x : value(trace, {Stage::Weights, 1}).values()) EXPECT_EQ(x, 1);
    EXPECT_TRUE(same_bits(value(trace, {Stage::Context, 1}).data(), value(trace, {Stage::V, 1}).data(), 20));
}

TYPED_TEST(Transformer, EmptyBatchesAndTextsGiveEmptyStages) {
    for (const TokenBatch& tokens : {TokenBatch{0, {}, {}}, TokenBatch{5, {}, {}}, TokenBatch{0, {}, {0, 0}}}) {
        const auto trace = run<TypeParam>(small_config(), tokens, causal());
        EXPECT_EQ(value(trace, {Stage::Logits, -1}).size(), 0);
        EXPECT_EQ(value(trace, {Stage::Logits, -1}).shape()[0].size, tokens.size());
    }
    Config config = small_config();
    config.architecture = Architecture::EncoderDecoder;
    const auto trace = run<TypeParam>(config, batch_of({{1, 2}}), causal(), TokenBatch{0, {}, {0}});
    for (const TypeParam x : value(trace, {Stage::Context, 0, Stack::Decoder, kCrossAttention}).values())
        EXPECT_EQ(x, 0) << "nothing to attend to";
}

TEST(TransformerInput, IsCheckedBeforeAnythingIsComputed) {
    const Config config = small_config();
    EXPECT_THROW(run<float>(config, TokenBatch{2, {1, 13}, {2}}), Error);
    EXPECT_THROW(run<float>(config, TokenBatch{2, {1, -1}, {2}}), Error);
    EXPECT_THROW(run<float>(config, TokenBatch{2, {1}, {2}}), ShapeError);
    EXPECT_THROW(run<float>(config, TokenBatch{2, {1, 2}, {3}}), ShapeError);
    EXPECT_THROW(run<float>(config, batch_of({random_text(41, 1)})), ConfigError);
    ForwardSettings settings;
    for (const double bad : {0.0, -1.0, std::nan("")}) {
        settings.temperature = bad;
        EXPECT_THROW(run<float>(config, batch_of({{1}}), settings), ConfigError);
    }
    Config two = config;
    two.architecture = Architecture::EncoderDecoder;
    EXPECT_THROW(run<float>(two, batch_of({{1}, {2}}), {}, batch_of({{1}})), ShapeError);
}

TEST(TransformerInput, AStaleComputationIsAbandoned) {
    std::stop_source stop;
    stop.request_stop();
    EXPECT_THROW(trace_forward<float>(fresh<float>(small_config()), batch_of({{1}}), {}, {}, stop.get_token()), Cancelled);
}

/// Heads with separate projections, run as single-head models and concatenated, equal the packed form.
TYPED_TEST(Transformer, IndependentHeadsAndThePackedFormAreOneComputation) {
    Config packed;
    packed.vocab_size = 13;
    packed.d_model = 12;
    packed.num_heads = 3;
    packed.num_layers = 1;
    packed.output_projection = packed.residual = packed.feed_forward = packed.final_norm = packed.lm_head = packed.tied_lm_head = false;
    packed.norm = NormPlacement::None;
    const auto parameters = fresh<TypeParam>(packed);
    const TokenBatch tokens = batch_of({random_text(11, 20), random_text(8, 21)});
    const auto whole = trace_forward<TypeParam>(parameters, tokens, {}, causal());
    Config single = packed;
    single.num_heads = 1;
    single.d_head = 4;
    for (std::int64_t head = 0; head < 3; ++head) {
        const auto own = fresh<TypeParam>(single);
        for (const char* name : {"token_embedding.weight", "position_embedding.weight"})
            std::copy(parameters->find(name), parameters->find(name) + parameters->layout().find(name)->shape.count(), own->find(name));
        for (std::int64_t part = 0; part < 3; ++part)
            for (std::int64_t c = 0; c < 4; ++c) {
                own->find("layers.0.attention.qkv.bias")[part * 4 + c] =
                    parameters->find("layers.0.attention.qkv.bias")[part * 12 + head * 4 + c];
                for (std::int64_t r = 0; r < 12; ++r)
                    own->find("layers.0.attention.qkv.weight")[r * 12 + part * 4 + c] =
                        parameters->find("layers.0.attention.qkv.weight")[r * 36 + part * 12 + head * 4 + c];
            }
        const auto alone = trace_forward<TypeParam>(own, tokens, {}, causal());
        for (std::int64_t b = 0; b < 2; ++b)
            for (std::int64_t t = 0; t < 11; ++t)
                for (std::int64_t c = 0; c < 4; ++c)
                    EXPECT_EQ(value(alone, {Stage::Concat, 0})(b, t, c), value(whole, {Stage::Concat, 0})(b, t, head * 4 + c));
    }
}

}  // namespace
}  // namespace attn
