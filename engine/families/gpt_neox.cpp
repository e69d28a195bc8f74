/// GPT-NeoX and Pythia (Black et al., 2022; Biderman et al., 2023), as in huggingface/transformers, models/gpt_neox: RoPE on part of each
/// head, parallel blocks, and q, k, v stored together per head.

#include <fmt/format.h>

#include <array>

#include "engine/families/shared_parts.hpp"

namespace attn {
namespace {

constexpr std::array<std::string_view, 1> kNeoxTypes = {"gpt_neox"}, kNeoxPrefixes = {"gpt_neox."};

Config read_neox_config(JsonObject& json) {
    Config config = read_decoder_sizes(json);
    bool parallel = true;
    json.read("use_parallel_residual", parallel);
    if (parallel) config.order = BlockOrder::Parallel;
    config.qkv_bias = true;
    json.read("attention_bias", config.qkv_bias);
    config.output_bias = config.qkv_bias;
    config.ffn_bias = true;
    config.d_ff = required_size(json, "intermediate_size");
    config.activation = read_activation_word(json, "hidden_act", Activation::GeluErf);
    json.read("layer_norm_eps", config.layer_norm_eps, 1e-30, 1);
    read_rotary(json, config, 0.25, true);
    return config;
}

std::vector<TensorSource> neox_tensors(const Config& config) {
    std::vector<TensorSource> out{{"token_embedding.weight", "embed_in.weight"}};
    for (std::int64_t layer = 0; layer < config.num_layers; ++layer) {
        const std::string name = fmt::format("layers.{}.", layer);
        add_norm(out, name + "norm_1", name + "input_layernorm", config);
        add_interleaved_projections(out, name + "attention.", name + "attention.query_key_value", config, config.qkv_bias);
        add_linear(out, name + "attention.out", name + "attention.dense", true, config.output_bias);
        add_norm(out, name + "norm_2", name + "post_attention_layernorm", config);
        add_linear(out, name + "ffn.in", name + "mlp.dense_h_to_4h", true, true);
        add_linear(out, name + "ffn.out", name + "mlp.dense_4h_to_h", true, true);
    }
    add_norm(out, "final_norm", "final_layer_norm", config);
    if (!config.tied_lm_head) out.push_back({"lm_head.weight", "embed_out.weight", true});
    return out;
}

}  // namespace

constinit const Family kGptNeoxFamily{.name = "GPT-NeoX",
                                      .model_types = kNeoxTypes,
                                      .prefixes = kNeoxPrefixes,
                                      .read_config = read_neox_config,
                                      .tensors = neox_tensors,
                                      .leftover = usual_leftover};

}  // namespace attn
