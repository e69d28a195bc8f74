/// Phi-1, 1.5 and 2: parallel blocks with one norm, and RoPE on part of each head. Phi-3 and later: a Llama with two fused maps. As in
/// huggingface/transformers, models/phi and phi3. Uploads from before Phi was part of transformers ("phi-msft") have other names, and one
/// map for q, k and v; how they become those of today is in its convert_phi_weights_to_hf.py.

#include <fmt/format.h>

#include <array>

#include "engine/families/shared_parts.hpp"

namespace attn {
namespace {

constexpr std::array<std::string_view, 1> kPhiTypes = {"phi"}, kOldPhiTypes = {"phi-msft"}, kPhi3Types = {"phi3"},
                                          kPhiPrefixes = {"model."};

void set_phi_parts(Config& config) {
    config.order = BlockOrder::ParallelOneNorm;
    config.qkv_bias = config.output_bias = config.ffn_bias = true;
    config.lm_head_bias = true;
}

Config read_phi_config(JsonObject& json) {
    Config config = read_decoder_sizes(json);
    set_phi_parts(config);
    config.d_ff = required_size(json, "intermediate_size");
    config.activation = read_activation_word(json, "hidden_act", Activation::GeluTanh);
    json.read("layer_norm_eps", config.layer_norm_eps, 1e-30, 1);
    require_option(json, "qk_layernorm", false, false, "LayerNorms of queries and keys");
    read_rotary(json, config, 0.5);
    return config;
}

std::vector<TensorSource> phi_tensors(const Config& config) {
    std::vector<TensorSource> out{{"token_embedding.weight", "embed_tokens.weight"}};
    for (std::int64_t layer = 0; layer < config.num_layers; ++layer) {
        const std::string name = fmt::format("layers.{}.", layer);
        add_norm(out, name + "norm_1", name + "input_layernorm", config);
        add_self_attn(out, name, "dense", config);
        add_linear(out, name + "ffn.in", name + "mlp.fc1", true, true);
        add_linear(out, name + "ffn.out", name + "mlp.fc2", true, true);
    }
    add_norm(out, "final_norm", "final_layernorm", config);
    if (!config.tied_lm_head) out.push_back({"lm_head.weight", "lm_head.weight", true});
    out.push_back({"lm_head.bias", "lm_head.bias"});
    return out;
}

Config read_old_phi_config(JsonObject& json) {
    Config config;
    config.architecture = Architecture::DecoderOnly;
    set_phi_parts(config);
    config.tied_lm_head = false;
    config.vocab_size = required_size(json, "vocab_size");
    config.context_length = required_size(json, "n_positions");
    config.d_model = required_size(json, "n_embd");
    config.num_layers = required_size(json, "n_layer");
    config.num_heads = required_size(json, "n_head");
    config.d_ff = size_or(json, "n_inner", 4 * config.d_model);
    config.activation = read_activation_word(json, "activation_function", Activation::GeluTanh);
    json.read("layer_norm_epsilon", config.layer_norm_eps, 1e-30, 1);
    config.position = PositionKind::Rotary;
    config.rotary_size = size_or(json, "rotary_dim", 32);
    if (config.rotary_size % 2 != 0 || config.rotary_size > config.head_size())
        json.fail("rotary_dim",
                  fmt::format("is {}; expected an even number up to {}, the dimensions of a head", config.rotary_size, config.head_size()));
    if (size_or(json, "n_head_kv", config.num_heads) != config.num_heads)
        json.fail("n_head_kv", "would need heads that share keys, which no Phi under these names has", FileFault::Unsupported);
    require_option(json, "tie_word_embeddings", false, false, "a head tied to the embedding");
    return config;
}

std::vector<TensorSource> old_phi_tensors(const Config& config) {
    std::vector<TensorSource> out{{"token_embedding.weight", "transformer.embd.wte.weight"}};
    for (std::int64_t layer = 0; layer < config.num_layers; ++layer) {
        const std::string name = fmt::format("layers.{}.", layer), tensor = fmt::format("transformer.h.{}.", layer);
        add_norm(out, name + "norm_1", tensor + "ln", config);
        add_fused_projections(out, name + "attention.", tensor + "mixer.Wqkv", config, true);
        add_linear(out, name + "attention.out", tensor + "mixer.out_proj", true, true);
        add_linear(out, name + "ffn.in", tensor + "mlp.fc1", true, true);
        add_linear(out, name + "ffn.out", tensor + "mlp.fc2", true, true);
    }
    add_norm(out, "final_norm", "lm_head.ln", config);
    add_linear(out, "lm_head", "lm_head.linear", true, true);
    return out;
}

Config read_phi3_config(JsonObject& json) {
    Config config = read_decoder_sizes(json, {.context = 4096});
    config.norm_kind = NormKind::Rms;
    config.ffn_gated = true;
    config.d_ff = required_size(json, "intermediate_size");
    config.activation = read_activation_word(json, "hidden_act", Activation::Silu);
    json.read("rms_norm_eps", config.layer_norm_eps, 1e-30, 1);
    require_option(json, "attention_bias", false, false, "biases of fused projections");
    read_rotary(json, config, 1, false, 4096);
    read_one_window(json, read_window(json, 0), config);
    return config;
}

std::vector<TensorSource> phi3_tensors(const Config& config) {
    std::vector<TensorSource> out{{"token_embedding.weight", "embed_tokens.weight"}};
    const std::int64_t wide = config.d_ff;
    for (std::int64_t layer = 0; layer < config.num_layers; ++layer) {
        const std::string name = fmt::format("layers.{}.", layer);
        add_norm(out, name + "norm_1", name + "input_layernorm", config);
        add_fused_projections(out, name + "attention.", name + "self_attn.qkv_proj", config, false);
        add_linear(out, name + "attention.out", name + "self_attn.o_proj", true, false);
        add_norm(out, name + "norm_2", name + "post_attention_layernorm", config);
        add_linear(out, name + "ffn.gate", name + "mlp.gate_up_proj", true, false, {{0, wide}}, 2 * wide);
        add_linear(out, name + "ffn.in", name + "mlp.gate_up_proj", true, false, {{wide, wide}}, 2 * wide);
        add_linear(out, name + "ffn.out", name + "mlp.down_proj", true, false);
    }
    add_norm(out, "final_norm", "norm", config);
    if (!config.tied_lm_head) out.push_back({"lm_head.weight", "lm_head.weight", true});
    return out;
}

}  // namespace

constinit const Family kPhiFamily{.name = "Phi",
                                  .model_types = kPhiTypes,
                                  .prefixes = kPhiPrefixes,
                                  .read_config = read_phi_config,
                                  .tensors = phi_tensors,
                                  .leftover = usual_leftover};
constinit const Family kOldPhiFamily{.name = "Phi",
                                     .model_types = kOldPhiTypes,
                                     .prefixes = {},
                                     .read_config = read_old_phi_config,
                                     .tensors = old_phi_tensors,
                                     .leftover = usual_leftover};
constinit const Family kPhi3Family{.name = "Phi-3",
                                   .model_types = kPhi3Types,
                                   .prefixes = kPhiPrefixes,
                                   .read_config = read_phi3_config,
                                   .tensors = phi3_tensors,
                                   .leftover = usual_leftover};

}  // namespace attn
