/// GPT-2 (Radford et al. 2019), as huggingface/transformers, models/gpt2, has it.

#include <fmt/format.h>

#include <array>

#include "engine/families/family.hpp"

namespace attn {
namespace {

constexpr std::array<std::string_view, 1> kGpt2Types = {"gpt2"};
constexpr std::array<std::string_view, 1> kGpt2Prefixes = {"transformer."};

Config read_gpt2_config(JsonObject& json) {
    Config config;
    config.architecture = Architecture::DecoderOnly;
    config.vocab_size = required_size(json, "vocab_size");
    config.d_model = required_size(json, "n_embd");
    config.num_heads = required_size(json, "n_head");
    config.num_layers = required_size(json, "n_layer");
    config.context_length = json.has("n_positions") ? required_size(json, "n_positions") : required_size(json, "n_ctx");
    config.d_ff = json.has("n_inner") ? required_size(json, "n_inner") : 4 * config.d_model;
    config.activation = read_activation_word(json, "activation_function", Activation::GeluTanh);
    json.read("layer_norm_epsilon", config.layer_norm_eps, 1e-30, 1);
    config.tied_lm_head = true;
    json.read("tie_word_embeddings", config.tied_lm_head);
    require_option(json, "scale_attn_weights", true, true, "scores that are not divided by the root of the head's size");
    json.read("scale_attn_by_inverse_layer_idx", config.scale_by_layer);
    require_option(json, "add_cross_attention", false, false, "cross-attention in a model of one stack");
    // reorder_and_upcast_attn only says in which order and precision the same product is taken: here all is float32 or better.
    return config;
}

std::vector<TensorSource> gpt2_tensors(const Config& config) {
    std::vector<TensorSource> out{{"token_embedding.weight", "wte.weight"}, {"position_embedding.weight", "wpe.weight"}};
    const std::int64_t width = config.attention_width(), packed = 3 * width;
    for (std::int64_t layer = 0; layer < config.num_layers; ++layer) {
        const std::string ours = fmt::format("layers.{}.", layer), theirs = fmt::format("h.{}.", layer);
        // Conv1D: every weight is [in,out]; the columns of c_attn are q, then k, then v.
        add_norm(out, ours + "norm_1", theirs + "ln_1", config);
        add_linear(out, ours + "attention.q", theirs + "attn.c_attn", false, true, {{0, width}}, packed);
        add_linear(out, ours + "attention.k", theirs + "attn.c_attn", false, true, {{width, width}}, packed);
        add_linear(out, ours + "attention.v", theirs + "attn.c_attn", false, true, {{2 * width, width}}, packed);
        add_linear(out, ours + "attention.out", theirs + "attn.c_proj", false, true);
        add_norm(out, ours + "norm_2", theirs + "ln_2", config);
        add_linear(out, ours + "ffn.in", theirs + "mlp.c_fc", false, true);
        add_linear(out, ours + "ffn.out", theirs + "mlp.c_proj", false, true);
    }
    add_norm(out, "final_norm", "ln_f", config);
    if (!config.tied_lm_head) out.push_back({"lm_head.weight", "lm_head.weight", true});
    return out;
}

Leftover gpt2_leftover(std::string_view tensor, const Config& config) {
    // Masks that old versions stored with the weights.
    if (tensor.starts_with("h.") && (tensor.ends_with(".attn.bias") || tensor.ends_with(".attn.masked_bias"))) return Leftover::Buffer;
    if (config.tied_lm_head && tensor == "lm_head.weight") return Leftover::Copy;
    return Leftover::Unknown;
}

}  // namespace

constinit const Family kGpt2Family{.name = "GPT-2",
                                   .model_types = kGpt2Types,
                                   .prefixes = kGpt2Prefixes,
                                   .read_config = read_gpt2_config,
                                   .tensors = gpt2_tensors,
                                   .leftover = gpt2_leftover};

}  // namespace attn
