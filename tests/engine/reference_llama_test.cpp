// Grouped key heads, RMSNorm, rotary positions and gated feed-forward networks: the reference against transformers with the same weights
// (LlamaForCausalLM, tests/golden/hf).
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "engine/io/json_object.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/io/text_file.hpp"
#include "engine/reference/forward.hpp"
#include "engine/tensor/error.hpp"

namespace attn::reference {
namespace {

namespace fs = std::filesystem;

struct Case {
    const char* folder;
    Config config;
};

Config llama(std::int64_t vocabulary, std::int64_t heads, std::int64_t d_head, std::int64_t d_ff) {
    Config config;
    config.vocab_size = vocabulary;
    config.context_length = 128;
    config.d_model = 48;
    config.num_heads = heads;
    config.num_kv_heads = 2;
    config.d_head = d_head;
    config.num_layers = 2;
    config.d_ff = d_ff;
    config.norm_kind = NormKind::Rms;
    config.activation = Activation::Silu;
    config.ffn_gated = true;
    config.position = PositionKind::Rotary;
    config.rotary_base = 500;
    return config;
}

/// As in the config.json of both folders.
Case without_biases() {
    Case out{"llama", llama(426, 6, 8, 60)};
    out.config.qkv_bias = out.config.output_bias = out.config.ffn_bias = false;
    out.config.tied_lm_head = false;
    out.config.layer_norm_eps = 1e-6;
    return out;
}
Case with_biases() {
    Case out{"llama_tied", llama(349, 4, 12, 68)};
    out.config.layer_norm_eps = 1e-5;
    return out;
}

/// All tensors of a folder, whose weights may be split into several files.
ArrayFile weights_of(const fs::path& folder) {
    ArrayFile all;
    for (const auto& entry : fs::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with("model") || !name.ends_with(".safetensors")) continue;
        ArrayFile part = read_safetensors(entry.path());
        std::move(part.arrays.begin(), part.arrays.end(), std::back_inserter(all.arrays));
    }
    return all;
}

/// The names of a layer's linear maps and norms: ours and theirs.
constexpr std::pair<const char*, const char*> kLinear[] = {{"attention.q", "self_attn.q_proj"}, {"attention.k", "self_attn.k_proj"},
                                                           {"attention.v", "self_attn.v_proj"}, {"attention.out", "self_attn.o_proj"},
                                                           {"ffn.gate", "mlp.gate_proj"},       {"ffn.in", "mlp.up_proj"},
                                                           {"ffn.out", "mlp.down_proj"}};
constexpr std::pair<const char*, const char*> kNorms[] = {{"norm_1", "input_layernorm"}, {"norm_2", "post_attention_layernorm"}};

/// Copies a tensor [out,in] of the file to our parameter [in,out], at the right columns; vectors are copied unchanged.
void fill(const ArrayFile& file, const std::string& theirs, const std::string& ours, Parameters<double>& parameters) {
    const ParameterPlace place = parameters.layout().place(ours);
    ASSERT_NE(place.whole, nullptr) << ours;
    const std::vector<double> values = file.values<double>(theirs);
    ASSERT_EQ(static_cast<std::int64_t>(values.size()), place.rows() * place.columns) << ours;
    for (std::int64_t in = 0; in < place.rows(); ++in)
        for (std::int64_t out = 0; out < place.columns; ++out)
            parameters.data()[place.offset() + in * place.stride() + out] = values[static_cast<std::size_t>(out * place.rows() + in)];
}

Parameters<double> load(const Case& one, const fs::path& folder) {
    const ArrayFile file = weights_of(folder);
    Parameters<double> parameters(one.config);
    std::size_t filled = 0;
    const auto take = [&](const std::string& theirs, const std::string& ours) {
        if (file.find(theirs) == nullptr) return;
        fill(file, theirs, ours, parameters);
        ++filled;
    };
    // Both store the table as [V,C].
    const std::vector<double> table = file.values<double>("model.embed_tokens.weight");
    std::copy(table.begin(), table.end(), parameters.find("token_embedding.weight"));
    ++filled;
    for (int layer = 0; layer < one.config.num_layers; ++layer) {
        const std::string ours = "layers." + std::to_string(layer) + ".", theirs = "model." + ours;
        for (const auto& [our_name, their_name] : kNorms) take(theirs + their_name + ".weight", ours + our_name + ".weight");
        for (const auto& [our_name, their_name] : kLinear)
            for (const char* part : {".weight", ".bias"}) take(theirs + their_name + part, ours + our_name + part);
    }
    take("model.norm.weight", "final_norm.weight");
    take("lm_head.weight", "lm_head.weight");
    EXPECT_EQ(filled, file.arrays.size());
    return parameters;
}

std::vector<std::int32_t> ids_of(const ArrayFile& file, const std::string& name) {
    const std::vector<std::int64_t> ids = file.values<std::int64_t>(name);
    return {ids.begin(), ids.end()};
}

/// The stage `id`.
const Tensor<double>& llama_stage(const std::vector<ReferenceStage>& stages, const StageId& id) {
    for (const ReferenceStage& stage : stages)
        if (stage.id == id) return stage.value;
    throw Error("no stage " + tensor_name(id));
}

/// Compares the rows of non-padding tokens: position `rows` of every head.
void compare(const ArrayFile& file, const std::string& name, const Tensor<double>& ours, const TokenBatch& tokens) {
    const std::vector<double> theirs = file.values<double>(name);
    ASSERT_EQ(static_cast<std::int64_t>(theirs.size()), ours.size()) << name;
    const Shape& shape = ours.shape();
    const std::int64_t width = shape[shape.rank() - 1].size, positions = shape[shape.rank() - 2].size;
    double largest = 0;
    for (const double value : theirs) largest = std::max(largest, std::abs(value));
    for (std::int64_t i = 0; i < ours.size(); ++i) {
        const std::int64_t row = i / width % positions, b = i / (ours.size() / shape[0].size);
        if (row >= tokens.lengths[static_cast<std::size_t>(b)]) continue;
        const double expected = theirs[static_cast<std::size_t>(i)];
        // PyTorch computed in float, which differs from float64 by about 1e-6 of the largest number.
        ASSERT_TRUE(std::abs(ours.data()[i] - expected) <= 1e-5 * largest)
            << name << " " << i << ": " << ours.data()[i] << " not " << expected;
    }
}

class ReferenceLlama : public testing::TestWithParam<Case> {};

TEST_P(ReferenceLlama, AgreesWithTransformers) {
    const fs::path folder = fs::path(ATTN_TEST_DATA) / "golden" / "hf" / GetParam().folder;
    const Parameters<double> parameters = load(GetParam(), folder);
    const ArrayFile expected = read_safetensors(folder / "expected.safetensors");
    ForwardSettings settings;
    settings.masks.causal = settings.masks.padding = true;
    for (const std::string run : {"one.", "pad."}) {
        TokenBatch tokens;
        tokens.ids = ids_of(expected, run + "input_ids");
        tokens.length = expected.at(run + "input_ids").shape.at(1);
        const std::int64_t batch = expected.at(run + "input_ids").shape.at(0);
        tokens.lengths.assign(static_cast<std::size_t>(batch), tokens.length);
        if (run == "pad.")
            for (std::int64_t b = 0; b < batch; ++b) {
                const std::vector<std::int32_t> real = ids_of(expected, "pad.attention_mask");
                const auto row = real.begin() + b * tokens.length;
                tokens.lengths[static_cast<std::size_t>(b)] = std::count(row, row + tokens.length, 1);
            }
        const std::vector<ReferenceStage> stages = forward(parameters, tokens, {}, settings);
        compare(expected, run + "hidden.0", llama_stage(stages, {Stage::Embedding}), tokens);
        compare(expected, run + "hidden.1", llama_stage(stages, {Stage::Residual2, 0}), tokens);
        compare(expected, run + "hidden.2", llama_stage(stages, {Stage::FinalNorm}), tokens);
        for (int layer = 0; layer < 2; ++layer) {
            const std::string attn = run + "attn." + std::to_string(layer) + ".";
            compare(expected, attn + "weights", llama_stage(stages, {Stage::Weights, layer}), tokens);
            if (run == "pad.") continue;
            compare(expected, attn + "q", llama_stage(stages, {Stage::QRotated, layer}), tokens);
            compare(expected, attn + "k", llama_stage(stages, {Stage::KRotated, layer}), tokens);
            compare(expected, attn + "v", llama_stage(stages, {Stage::V, layer}), tokens);
        }
        compare(expected, run + "logits", llama_stage(stages, {Stage::Logits}), tokens);
    }
}

INSTANTIATE_TEST_SUITE_P(Folders, ReferenceLlama, testing::Values(without_biases(), with_biases()),
                         [](const testing::TestParamInfo<Case>& one) { return std::string(one.param.folder); });

// Negative control: each of the four features affects the results.
TEST(ReferenceLlama, NeedsEachOfItsParts) {
    const fs::path folder = fs::path(ATTN_TEST_DATA) / "golden" / "hf" / "llama";
    const Case right = without_biases();
    const Parameters<double> parameters = load(right, folder);
    const ArrayFile expected = read_safetensors(folder / "expected.safetensors");
    TokenBatch tokens;
    tokens.ids = ids_of(expected, "one.input_ids");
    tokens.length = static_cast<std::int64_t>(tokens.ids.size());
    tokens.lengths = {tokens.length};
    ForwardSettings settings;
    settings.masks.causal = true;
    const std::vector<double> theirs = expected.values<double>("one.logits");
    const auto distance = [&](void (*change)(Config&)) {
        Config config = right.config;
        change(config);
        Parameters<double> changed(config);
        for (const ParameterInfo& info : changed.layout().entries()) {
            const ParameterInfo* same = parameters.layout().find(info.name);
            if (same != nullptr && same->shape == info.shape)
                std::copy_n(parameters.data() + same->offset, info.shape.count(), changed.data() + info.offset);
        }
        const std::vector<ReferenceStage> stages = forward(changed, tokens, {}, settings);
        const Tensor<double>& ours = llama_stage(stages, {Stage::Logits});
        double most = 0;
        for (std::size_t i = 0; i < theirs.size(); ++i) most = std::max(most, std::abs(ours.data()[i] - theirs[i]));
        return most;
    };
    EXPECT_LT(distance([](Config&) {}), 1e-4);
    EXPECT_GT(distance([](Config& c) { c.norm_kind = NormKind::LayerNorm; }), 0.1);
    EXPECT_GT(distance([](Config& c) { c.position = PositionKind::None; }), 0.1);
    EXPECT_GT(distance([](Config& c) { c.rotary_base = 10000; }), 0.1);
    EXPECT_GT(distance([](Config& c) { c.ffn_gated = false; }), 0.1);
    EXPECT_GT(distance([](Config& c) { c.activation = Activation::GeluErf; }), 0.01);
}

}  // namespace
}  // namespace attn::reference
