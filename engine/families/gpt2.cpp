/// GPT-2 (Radford et al., 2019), as in huggingface/transformers, models/gpt2.

#include <fmt/format.h>

#include <array>

#include "engine/families/shared_parts.hpp"

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
    read_gpt2_arithmetic(json, config);
    config.tied_lm_head = true;
    json.read("tie_word_embeddings", config.tied_lm_head);
    require_option(json, "add_cross_attention", false, false, "cross-attention in a decoder-only model");
    // reorder_and_upcast_attn only selects the precision of a product, which is at least float32 here.
    return config;
}

std::vector<TensorSource> gpt2_tensors(const Config& config) {
    std::vector<TensorSource> out{{"token_embedding.weight", "wte.weight"}, {"position_embedding.weight", "wpe.weight"}};
    const std::int64_t width = config.attention_width(), packed = 3 * width;
    for (std::int64_t layer = 0; layer < config.num_layers; ++layer) {
        const std::string ours = fmt::format("layers.{}.", layer), theirs = fmt::format("h.{}.", layer);
        // Conv1D: weights are [in,out]; the columns of c_attn are q, then k, then v.
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
    return tensor.starts_with("score.") ? Leftover::Other : Leftover::Unknown;  // the head of a classifier
}

bool names_as_gpt2(const Config& config) {
    return config.architecture == Architecture::DecoderOnly && !has_later_parts(config) && config.norm_kind == NormKind::LayerNorm &&
           config.position != PositionKind::Rotary && !config.grouped() && !config.ffn_gated && config.ffn_bias && !config.scale_by_layer;
}

std::string gpt2_config_json(const Config& config) {
    const bool computes_alike = config.norm == NormPlacement::Pre && config.position == PositionKind::Learned && config.qkv_bias &&
                                config.output_projection && config.output_bias && config.residual && config.feed_forward &&
                                config.final_norm && config.lm_head && config.attention_width() == config.d_model;
    if (!computes_alike) return "";
    const Json json{{"architectures", {"GPT2LMHeadModel"}},
                    {"model_type", "gpt2"},
                    {"vocab_size", config.vocab_size},
                    {"n_positions", config.context_length},
                    {"n_embd", config.d_model},
                    {"n_head", config.num_heads},
                    {"n_layer", config.num_layers},
                    {"n_inner", config.d_ff},
                    {"activation_function", activation_word(config.activation)},
                    {"layer_norm_epsilon", config.layer_norm_eps},
                    {"tie_word_embeddings", config.tied_lm_head},
                    {"torch_dtype", "float32"}};
    return json.dump(2) + "\n";
}

}  // namespace

void read_gpt2_arithmetic(JsonObject& json, Config& config) {
    config.activation = read_activation_word(json, "activation_function", Activation::GeluTanh);
    json.read("layer_norm_epsilon", config.layer_norm_eps, 1e-30, 1);
    bool scaled = true;
    json.read("scale_attn_weights", scaled);
    if (!scaled) config.score_factor = 1;
    json.read("scale_attn_by_inverse_layer_idx", config.scale_by_layer);
}

constinit const Family kGpt2Family{.name = "GPT-2",
                                   .model_types = kGpt2Types,
                                   .prefixes = kGpt2Prefixes,
                                   .read_config = read_gpt2_config,
                                   .tensors = gpt2_tensors,
                                   .leftover = gpt2_leftover,
                                   .names = names_as_gpt2,
                                   .config_json = gpt2_config_json};

}  // namespace attn
