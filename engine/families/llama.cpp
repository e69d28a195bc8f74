/// Llama (Touvron et al. 2023) and the families that differ from it in biases alone, as huggingface/transformers, models/llama, mistral
/// and qwen2, has them: root-mean-square norms before each sublayer, rotary positions, grouped keys and values, a gated feed-forward.

#include <fmt/format.h>

#include <array>
#include <limits>

#include "engine/families/family.hpp"

namespace attn {
namespace {

constexpr std::array<std::string_view, 1> kLlamaTypes = {"llama"};
constexpr std::array<std::string_view, 1> kMistralTypes = {"mistral"};
constexpr std::array<std::string_view, 1> kQwen2Types = {"qwen2"};
constexpr std::array<std::string_view, 1> kLlamaPrefixes = {"model."};

/// How frequencies are changed for long texts.
void read_stretch(JsonObject& json, RotaryStretch& stretch) {
    constexpr double kLeast = std::numeric_limits<double>::min(), kMost = 1e9;
    std::string type = "default";
    const char* name = json.has("rope_type") ? "rope_type" : "type";
    json.read(name, type);
    if (type == "default") return;
    if (type != "linear" && type != "llama3")
        json.fail(name,
                  fmt::format("is \"{}\", which would need rotary frequencies of another kind: those there are, are linear and llama3",
                              escaped(type)),
                  FileFault::Unsupported);
    stretch.kind = type == "linear" ? RotaryScaling::Linear : RotaryScaling::Llama3;
    if (!json.read("factor", stretch.factor, 1, kMost)) json.fail_missing("factor");
    json.read("low_freq_factor", stretch.low, kLeast, kMost);
    json.read("high_freq_factor", stretch.high, kLeast, kMost);
    json.read("original_max_position_embeddings", stretch.original_context, 1, std::int64_t{1} << 40);
}

/// The base, which older files have at the top and newer ones in an object of their own.
void read_rotary(JsonObject& json, Config& config) {
    constexpr double kLeast = std::numeric_limits<double>::min(), kMost = std::numeric_limits<double>::max();
    json.read("rope_theta", config.rotary_base, kLeast, kMost);
    for (const char* key : {"rope_parameters", "rope_scaling"}) {
        auto rotary = json.optional_object(key);
        if (!rotary) continue;
        rotary->read("rope_theta", config.rotary_base, kLeast, kMost);
        read_stretch(*rotary, config.rotary_stretch);
    }
    double share = 1;
    json.read("partial_rotary_factor", share, 0, 1);
    if (share != 1) json.fail("partial_rotary_factor", "would need rotary positions in a part of each head", FileFault::Unsupported);
}

/// What all of them share; which maps have biases is a family's own.
Config read_decoder(JsonObject& json) {
    Config config;
    config.architecture = Architecture::DecoderOnly;
    config.norm_kind = NormKind::Rms;
    config.position = PositionKind::Rotary;
    config.ffn_gated = true;
    config.vocab_size = required_size(json, "vocab_size");
    config.d_model = required_size(json, "hidden_size");
    config.num_layers = required_size(json, "num_hidden_layers");
    config.num_heads = required_size(json, "num_attention_heads");
    if (json.has("num_key_value_heads")) config.num_kv_heads = required_size(json, "num_key_value_heads");
    if (config.num_kv_heads == config.num_heads) config.num_kv_heads = 0;
    if (json.has("head_dim")) config.d_head = required_size(json, "head_dim");
    config.d_ff = required_size(json, "intermediate_size");
    config.context_length = json.has("max_position_embeddings") ? required_size(json, "max_position_embeddings") : 2048;
    config.activation = read_activation_word(json, "hidden_act", Activation::Silu);
    config.layer_norm_eps = 1e-6;
    json.read("rms_norm_eps", config.layer_norm_eps, 1e-30, 1);
    config.tied_lm_head = false;
    json.read("tie_word_embeddings", config.tied_lm_head);
    config.qkv_bias = config.output_bias = config.ffn_bias = false;
    read_rotary(json, config);
    return config;
}

void require_no_window(JsonObject& json) {
    std::int64_t window = 0;
    if (json.read("sliding_window", window, 0, std::int64_t{1} << 40))
        json.fail("sliding_window", fmt::format("is {}, which would need layers that see only the last tokens", window),
                  FileFault::Unsupported);
}

Config read_llama_config(JsonObject& json) {
    Config config = read_decoder(json);
    json.read("attention_bias", config.qkv_bias);
    config.output_bias = config.qkv_bias;
    json.read("mlp_bias", config.ffn_bias);
    return config;
}

Config read_mistral_config(JsonObject& json) {
    require_no_window(json);
    return read_decoder(json);
}

/// The window is written down even where no layer uses it.
Config read_qwen2_config(JsonObject& json) {
    bool windowed = false;
    json.read("use_sliding_window", windowed);
    if (windowed) require_no_window(json);
    Config config = read_decoder(json);
    config.qkv_bias = true;
    return config;
}

std::vector<TensorSource> llama_tensors(const Config& config) {
    std::vector<TensorSource> out{{"token_embedding.weight", "embed_tokens.weight"}};
    for (std::int64_t layer = 0; layer < config.num_layers; ++layer) {
        const std::string name = fmt::format("layers.{}.", layer);
        add_norm(out, name + "norm_1", name + "input_layernorm", config);
        for (const char* part : {"q", "k", "v"})
            add_linear(out, name + "attention." + part, fmt::format("{}self_attn.{}_proj", name, part), true, config.qkv_bias);
        add_linear(out, name + "attention.out", name + "self_attn.o_proj", true, config.output_bias);
        add_norm(out, name + "norm_2", name + "post_attention_layernorm", config);
        add_linear(out, name + "ffn.gate", name + "mlp.gate_proj", true, config.ffn_bias);
        add_linear(out, name + "ffn.in", name + "mlp.up_proj", true, config.ffn_bias);
        add_linear(out, name + "ffn.out", name + "mlp.down_proj", true, config.ffn_bias);
    }
    add_norm(out, "final_norm", "norm", config);
    if (!config.tied_lm_head) out.push_back({"lm_head.weight", "lm_head.weight", true});
    return out;
}

Leftover llama_leftover(std::string_view tensor, const Config& config) {
    if (tensor.ends_with("rotary_emb.inv_freq")) return Leftover::Buffer;
    if (config.tied_lm_head && tensor == "lm_head.weight") return Leftover::Copy;
    return Leftover::Unknown;
}

constexpr Family llama_like(std::string_view name, std::span<const std::string_view> types, Config (*read)(JsonObject&)) {
    return {.name = name,
            .model_types = types,
            .prefixes = kLlamaPrefixes,
            .read_config = read,
            .tensors = llama_tensors,
            .leftover = llama_leftover};
}

}  // namespace

constinit const Family kLlamaFamily = llama_like("Llama", kLlamaTypes, read_llama_config);
constinit const Family kMistralFamily = llama_like("Mistral", kMistralTypes, read_mistral_config);
constinit const Family kQwen2Family = llama_like("Qwen2", kQwen2Types, read_qwen2_config);

}  // namespace attn
