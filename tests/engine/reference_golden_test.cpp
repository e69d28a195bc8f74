// The reference is checked against PyTorch and NumPy before anything is checked against the reference.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "engine/check/torch_parameters.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/reference/forward.hpp"
#include "engine/reference/maths.hpp"

namespace attn::reference {
namespace {

using check::CaseFile;
using check::Tolerance;

const std::filesystem::path kGolden = std::filesystem::path(ATTN_TEST_DATA) / "golden";
constexpr Tolerance kTorch{2e-5, 1e-4};  // PyTorch computed in float

/// The case without gradients, which the reference does not compute.
CaseFile open(const std::string& name) {
    ArrayFile file = read_safetensors(kGolden / (name + ".safetensors"));
    std::erase_if(file.arrays, [](const NamedArray& array) { return array.name.starts_with("grad."); });
    return {std::move(file), kTorch};
}

Permissions allow_all(std::int64_t batch, std::int64_t queries, std::int64_t keys) {
    return {batch, 1, queries, keys, std::vector<std::uint8_t>(static_cast<std::size_t>(batch * queries * keys), 1), {}};
}

/// Broadcasts a mask tensor to every cell [B,H,T,S]; `keeps` says what a number allows.
template <class Value, class Keeps>
Permissions spread(const std::vector<std::int64_t>& sizes, const std::vector<Value>& values, const Shape& shape, Keeps keeps,
                   bool as_bias) {
    Permissions out{shape[0].size, shape[1].size, shape[2].size, shape[3].size, {}, {}};
    out.keep.resize(static_cast<std::size_t>(shape.count()));
    if (as_bias) out.bias.resize(out.keep.size());
    for (std::int64_t i = 0; i < shape.count(); ++i) {
        std::int64_t rest = i, at = 0, stride = 1;
        for (int axis = 3, from = static_cast<int>(sizes.size()) - 1; from >= 0; --axis, --from) {
            const std::int64_t index = rest % shape[axis].size, size = sizes[static_cast<std::size_t>(from)];
            rest /= shape[axis].size;
            at += (size == 1 ? 0 : index) * stride;
            stride *= size;
        }
        const auto value = values[static_cast<std::size_t>(at)];
        out.keep[static_cast<std::size_t>(i)] = keeps(value);
        if (as_bias) out.bias[static_cast<std::size_t>(i)] = static_cast<double>(value);
    }
    return out;
}

void expect_ok(CaseFile& file, const std::string& module) {
    const check::Report report = file.finish(module);
    ASSERT_FALSE(report.tensors.empty());
    for (const check::TensorResult& tensor : report.tensors)
        EXPECT_TRUE(tensor.ok) << report.file << " " << tensor.name << " " << tensor.max_abs << " at " << tensor.worst_index;
}

class ReferenceSdpa : public testing::TestWithParam<const char*> {};

TEST_P(ReferenceSdpa, AgreesWithPyTorch) {
    CaseFile file = open(std::string("sdpa_") + GetParam());
    const auto q_sizes = file.sizes("in.q", 4), k_sizes = file.sizes("in.k", 4), v_sizes = file.sizes("in.v", 4);
    const auto heads = [](const std::vector<std::int64_t>& sizes, Axis position) {
        return Shape{{Axis::B, sizes[0]}, {Axis::H, sizes[1]}, {position, sizes[2]}, {Axis::D, sizes[3]}};
    };
    const Tensor<double> q = file.tensor<double>("in.q", heads(q_sizes, Axis::T)), k = file.tensor<double>("in.k", heads(k_sizes, Axis::S));
    const Tensor<double> v = file.tensor<double>("in.v", heads(v_sizes, Axis::S));
    Tensor<double> map = attention_scores(q, k);
    file.compare("out.scores", map);
    Permissions permissions = allow_all(q_sizes[0], q_sizes[2], k_sizes[2]);
    if (file.has("in.mask") && file.dtype("in.mask") == DType::Bool) {
        permissions = spread(
            file.sizes("in.mask"), file.flags("in.mask"), map.shape(), [](auto value) { return value != 0; }, false);
    } else if (file.has("in.mask")) {
        const auto bias = file.numbers<double>("in.mask", {{Axis::T, q_sizes[2]}, {Axis::S, k_sizes[2]}});
        permissions = spread(
            file.sizes("in.mask"), bias, map.shape(), [](auto value) { return value > -INFINITY; }, true);
    }
    const double scale = std::string(GetParam()) == "none_scale" ? 0.5 : 1 / std::sqrt(static_cast<double>(q_sizes[3]));
    for (double& score : map.values()) score *= scale;
    file.compare("out.scaled", map);
    const Tensor<double> weights = attention_weights(apply_mask(map, permissions), permissions, 1);
    file.compare("out.weights", weights);
    file.compare("out.context", weighted_values(weights, v, permissions));
    expect_ok(file, "sdpa");
}

INSTANTIATE_TEST_SUITE_P(Cases, ReferenceSdpa,
                         testing::Values("none", "none_scale", "causal", "padding", "causal_padding", "additive", "per_head", "window"));

/// Tokens first, first + 1, ...: with a token table that contains the rows of `in.src` (and `in.tgt`), the model reads the file's input.
TokenBatch rows_as_tokens(std::int64_t batch, std::int64_t length, std::int64_t first, std::int64_t padding_of_last) {
    TokenBatch out;
    out.length = length;
    for (std::int64_t i = 0; i < batch * length; ++i) out.ids.push_back(static_cast<std::int32_t>(first + i));
    out.lengths.assign(static_cast<std::size_t>(batch), length);
    out.lengths.back() -= padding_of_last;
    return out;
}

Config layer_config(std::int64_t rows, std::int64_t layers) {
    Config config;
    config.vocab_size = rows;
    config.d_model = 32;
    config.num_heads = 4;
    config.num_layers = layers;
    config.d_ff = 64;
    config.position = PositionKind::None;
    config.lm_head = false;
    config.final_norm = false;
    config.architecture = Architecture::Encoder;
    return config;
}

void fill_table(const CaseFile& file, const std::vector<std::string>& inputs, Parameters<double>& parameters) {
    double* at = parameters.find("token_embedding.weight");
    for (const std::string& name : inputs) {
        const auto sizes = file.sizes(name, 3);
        for (const double value : file.numbers<double>(name, {{Axis::B, sizes[0]}, {Axis::T, sizes[1]}, {Axis::C, sizes[2]}}))
            *at++ = value;
    }
}

/// The stage `id`.
const Tensor<double>& stage(const std::vector<ReferenceStage>& stages, const StageId& id) {
    for (const ReferenceStage& stage : stages)
        if (stage.id == id) return stage.value;
    throw Error("no stage " + tensor_name(id));
}

class ReferenceEncoder : public testing::TestWithParam<std::tuple<bool, Activation>> {};

TEST_P(ReferenceEncoder, AgreesWithPyTorch) {
    const auto [pre, activation] = GetParam();
    CaseFile file = open(std::string("encoder_layer_") + (pre ? "pre_" : "post_") + (activation == Activation::Relu ? "relu" : "gelu"));
    Config config = layer_config(12, 1);
    config.norm = pre ? NormPlacement::Pre : NormPlacement::Post;
    config.activation = activation;
    Parameters<double> parameters = check::load_parameters<double>(file, config, check::encoder_layer_links(config, "", "layers.0."));
    fill_table(file, {"in.src"}, parameters);
    const auto stages = forward(parameters, rows_as_tokens(2, 6, 0, 1), {}, {});
    file.compare("out.output", stages.back().value);
    expect_ok(file, "encoder_layer");
}

INSTANTIATE_TEST_SUITE_P(Cases, ReferenceEncoder,
                         testing::Combine(testing::Bool(), testing::Values(Activation::Relu, Activation::GeluErf)));

class ReferenceDecoder : public testing::TestWithParam<Activation> {};

// Only a pre-norm encoder can pass its input through unchanged; post-norm decoder layers are covered by the transformer case.
TEST_P(ReferenceDecoder, AgreesWithPyTorch) {
    const Activation activation = GetParam();
    CaseFile file = open(std::string("decoder_layer_pre_") + (activation == Activation::Relu ? "relu" : "gelu"));
    Config config = layer_config(24, 1);
    config.architecture = Architecture::EncoderDecoder;
    config.norm = NormPlacement::Pre;
    config.activation = activation;
    // All encoder parameters are 0: attention and feed-forward network add nothing, so the memory is the encoder's input.
    Parameters<double> parameters =
        check::load_parameters<double>(file, config, check::decoder_layer_links(config, "", "decoder.layers.0."));
    fill_table(file, {"in.memory", "in.tgt"}, parameters);
    ForwardSettings settings;
    settings.masks.causal = true;
    const auto stages = forward(parameters, rows_as_tokens(2, 6, 12, 0), rows_as_tokens(2, 6, 0, 1), settings);
    file.compare("out.output", stages.back().value);
    expect_ok(file, "decoder_layer");
}

INSTANTIATE_TEST_SUITE_P(Cases, ReferenceDecoder, testing::Values(Activation::Relu, Activation::GeluErf));

TEST(ReferenceModel, TransformersAgreeWithPyTorch) {
    for (const bool pre : {true, false}) {
        CaseFile file = open(pre ? "transformer_pre" : "transformer_post");
        Config config = layer_config(24, 2);
        config.architecture = Architecture::EncoderDecoder;
        config.norm = pre ? NormPlacement::Pre : NormPlacement::Post;
        config.activation = Activation::GeluErf;
        config.final_norm = true;
        std::vector<check::ParameterLink> links = check::transformer_encoder_links(config, "encoder.");
        for (check::ParameterLink& link : check::transformer_decoder_links(config)) links.push_back(std::move(link));
        Parameters<double> parameters = check::load_parameters<double>(file, config, links);
        fill_table(file, {"in.src", "in.tgt"}, parameters);
        ForwardSettings settings;
        settings.masks.causal = true;
        const auto stages = forward(parameters, rows_as_tokens(2, 6, 12, 0), rows_as_tokens(2, 6, 0, 2), settings);
        file.compare("out.output", stages.back().value);
        expect_ok(file, "transformer");
    }
}

TEST(ReferenceModel, Gpt2AgreesWithPyTorch) {
    CaseFile file = open("gpt2");
    Config config;
    config.vocab_size = 23;
    config.context_length = 16;
    config.d_model = 32;
    config.num_heads = 4;
    config.num_layers = 2;
    config.d_ff = 128;
    Parameters<double> parameters = check::load_parameters<double>(file, config, check::gpt2_links(config));
    ForwardSettings settings;
    settings.masks.causal = true;
    const TokenBatch tokens{6, file.ids("in.tokens", {2, 6}, 23), {6, 6}};
    const auto stages = forward(parameters, tokens, {}, settings);
    file.compare("out.logits", stage(stages, {Stage::Logits}));
    for (int layer = 0; layer < 2; ++layer)
        file.compare("out.h." + std::to_string(layer) + ".attn.weights", stage(stages, {Stage::Weights, layer}));
    const auto targets = file.ids("in.targets", {2, 6}, 23);
    const Tensor<double>& probabilities = stage(stages, {Stage::Probabilities});
    double loss = 0;
    for (std::size_t i = 0; i < targets.size(); ++i)
        loss -= std::log(probabilities.data()[static_cast<std::int64_t>(i) * 23 + targets[i]]) / static_cast<double>(targets.size());
    file.compare<double>("out.loss", Shape{{Axis::N, 1}}, std::span<const double>(&loss, 1));
    expect_ok(file, "gpt2");
}

TEST(ReferenceModel, OneChangedNumberIsSeen) {
    CaseFile file = open("gpt2");
    auto logits = file.numbers<double>("out.logits", {{Axis::B, 2}, {Axis::T, 6}, {Axis::V, 23}});
    const auto compared = [&] {
        return check::compare_numbers<double>("out.logits", file.numbers<double>("out.logits", {{Axis::B, 2}, {Axis::T, 6}, {Axis::V, 23}}),
                                              logits, kTorch);
    };
    EXPECT_TRUE(compared().ok);
    logits[17] += 1e-3;
    EXPECT_FALSE(compared().ok);
    EXPECT_EQ(compared().worst_index, 17);
    logits[17] = NAN;
    EXPECT_FALSE(compared().ok);
}

}  // namespace
}  // namespace attn::reference
