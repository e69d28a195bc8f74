/// Falcon (Almazrouei et al., 2023), as in huggingface/transformers, models/falcon: multi- or grouped-query attention, parallel blocks, and
/// q, k, v fused in one of three orders; or Falcon-RW, with ALiBi that is scaled like the scores.

#include <fmt/format.h>

#include <array>

#include "engine/families/shared_parts.hpp"

namespace attn {
namespace {

/// The first files, which came with code of their own, call Falcon 7B a RefinedWebModel and Falcon 40B a RefinedWeb.
constexpr std::array<std::string_view, 3> kFalconTypes = {"falcon", "RefinedWebModel", "RefinedWeb"};
constexpr std::array<std::string_view, 1> kFalconPrefixes = {"transformer."};

/// Sizes under the names of the first files, for files that have them.
UsualSizes older_sizes(JsonObject& json) {
    UsualSizes sizes;
    if (json.has("n_layer")) sizes.layers = required_size(json, "n_layer");
    if (json.has("n_head")) sizes.heads = required_size(json, "n_head");
    return sizes;
}

Config read_falcon_config(JsonObject& json) {
    Config config = read_decoder_sizes(json, older_sizes(json));
    config.num_kv_heads = 0;
    if (!json.has("tie_word_embeddings")) config.tied_lm_head = true;
    bool new_order = false, one_head = true, parallel = true;
    json.read("new_decoder_architecture", new_order);
    json.read("multi_query", one_head);
    json.read("parallel_attn", parallel);
    const char* const kv_heads = json.has("n_head_kv") ? "n_head_kv" : "num_kv_heads";
    if (json.has("n_head_kv")) new_order = true;  // of the first files only those of the new order have this key
    if (new_order) {
        if (json.has(kv_heads)) config.num_kv_heads = required_size(json, kv_heads);
        if (config.num_kv_heads == config.num_heads) config.num_kv_heads = 0;
    } else if (one_head && config.num_heads > 1) {
        config.num_kv_heads = 1;
    }
    std::int64_t norms = new_order ? 2 : 1;
    json.read("num_ln_in_parallel_attn", norms, 1, 2);
    if (new_order || parallel) config.order = norms == 2 && new_order ? BlockOrder::Parallel : BlockOrder::ParallelOneNorm;
    json.read("bias", config.qkv_bias);
    config.output_bias = config.ffn_bias = config.qkv_bias;
    config.d_ff = json.has("ffn_hidden_size") ? required_size(json, "ffn_hidden_size") : 4 * config.d_model;
    config.activation = read_activation_word(json, "activation", Activation::GeluErf);
    json.read("layer_norm_epsilon", config.layer_norm_eps, 1e-30, 1);
    if (json.read("alibi", config.scaled_alibi); config.scaled_alibi) config.position = PositionKind::Alibi;
    else read_rotary(json, config);
    return config;
}

std::vector<TensorSource> falcon_tensors(const Config& config) {
    std::vector<TensorSource> out{{"token_embedding.weight", "word_embeddings.weight"}};
    const bool two_norms = config.order == BlockOrder::Parallel;
    for (std::int64_t layer = 0; layer < config.num_layers; ++layer) {
        const std::string ours = fmt::format("layers.{}.", layer), theirs = fmt::format("h.{}.", layer);
        add_norm(out, ours + "norm_1", theirs + (two_norms ? "ln_attn" : "input_layernorm"), config);
        // With a single key head the interleaved order and the order all q, all k, all v are the same.
        add_interleaved_projections(out, ours + "attention.", theirs + "self_attention.query_key_value", config, config.qkv_bias);
        add_linear(out, ours + "attention.out", theirs + "self_attention.dense", true, config.output_bias);
        if (two_norms) add_norm(out, ours + "norm_2", theirs + "ln_mlp", config);
        else if (config.order == BlockOrder::InTurn) add_norm(out, ours + "norm_2", theirs + "post_attention_layernorm", config);
        add_linear(out, ours + "ffn.in", theirs + "mlp.dense_h_to_4h", true, config.ffn_bias);
        add_linear(out, ours + "ffn.out", theirs + "mlp.dense_4h_to_h", true, config.ffn_bias);
    }
    add_norm(out, "final_norm", "ln_f", config);
    if (!config.tied_lm_head) out.push_back({"lm_head.weight", "lm_head.weight", true});
    return out;
}

}  // namespace

constinit const Family kFalconFamily{.name = "Falcon",
                                     .model_types = kFalconTypes,
                                     .prefixes = kFalconPrefixes,
                                     .read_config = read_falcon_config,
                                     .tensors = falcon_tensors,
                                     .leftover = usual_leftover};

}  // namespace attn
