/// BLOOM (Scao et al., 2022), as in huggingface/transformers, models/bloom: ALiBi, a norm of the word embedding, and q, k, v stored
/// together per head.

#include <fmt/format.h>

#include <array>

#include "engine/families/shared_parts.hpp"

namespace attn {
namespace {

constexpr std::array<std::string_view, 1> kBloomTypes = {"bloom"}, kBloomPrefixes = {"transformer."};

Config read_bloom_config(JsonObject& json) {
    Config config;
    config.architecture = Architecture::DecoderOnly;
    config.vocab_size = required_size(json, "vocab_size");
    config.d_model = json.has("n_embed") ? required_size(json, "n_embed") : required_size(json, "hidden_size");
    config.num_layers = json.has("num_hidden_layers") ? required_size(json, "num_hidden_layers") : required_size(json, "n_layer");
    config.num_heads = json.has("num_attention_heads") ? required_size(json, "num_attention_heads") : required_size(json, "n_head");
    config.context_length = json.has("seq_length") ? required_size(json, "seq_length") : 2048;
    config.d_ff = 4 * config.d_model;
    config.activation = Activation::GeluTanh;
    json.read("layer_norm_epsilon", config.layer_norm_eps, 1e-30, 1);
    config.tied_lm_head = true;
    json.read("tie_word_embeddings", config.tied_lm_head);
    config.position = PositionKind::Alibi;
    config.embedding_norm = true;
    json.read("apply_residual_connection_post_layernorm", config.residual_from_norm);
    return config;
}

std::vector<TensorSource> bloom_tensors(const Config& config) {
    std::vector<TensorSource> out{{"token_embedding.weight", "word_embeddings.weight"}};
    add_norm(out, "embedding_norm", "word_embeddings_layernorm", config);
    for (std::int64_t layer = 0; layer < config.num_layers; ++layer) {
        const std::string ours = fmt::format("layers.{}.", layer), theirs = fmt::format("h.{}.", layer);
        add_norm(out, ours + "norm_1", theirs + "input_layernorm", config);
        add_interleaved_projections(out, ours + "attention.", theirs + "self_attention.query_key_value", config, true);
        add_linear(out, ours + "attention.out", theirs + "self_attention.dense", true, true);
        add_norm(out, ours + "norm_2", theirs + "post_attention_layernorm", config);
        add_linear(out, ours + "ffn.in", theirs + "mlp.dense_h_to_4h", true, true);
        add_linear(out, ours + "ffn.out", theirs + "mlp.dense_4h_to_h", true, true);
    }
    add_norm(out, "final_norm", "ln_f", config);
    if (!config.tied_lm_head) out.push_back({"lm_head.weight", "lm_head.weight", true});
    return out;
}

}  // namespace

constinit const Family kBloomFamily{.name = "BLOOM",
                                    .model_types = kBloomTypes,
                                    .prefixes = kBloomPrefixes,
                                    .read_config = read_bloom_config,
                                    .tensors = bloom_tensors,
                                    .leftover = usual_leftover,
                                    .counts_real_tokens = true};

}  // namespace attn
