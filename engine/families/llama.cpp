/// Llama (Touvron et al., 2023) and its close relatives, as in huggingface/transformers, models/llama, mistral, qwen2, qwen3, smollm3 and
/// olmo2: RMS norm, RoPE, grouped-query attention, gated feed-forward blocks.

#include <fmt/format.h>

#include <array>

#include "engine/families/shared_parts.hpp"

namespace attn {
namespace {

constexpr std::array<std::string_view, 1> kLlamaTypes = {"llama"}, kMistralTypes = {"mistral"}, kQwen2Types = {"qwen2"},
                                          kQwen3Types = {"qwen3"}, kSmolLm3Types = {"smollm3"}, kOlmo2Types = {"olmo2"},
                                          kLlamaPrefixes = {"model."};

/// Common to all of them; which maps have biases differs.
Config read_decoder(JsonObject& json, double usual_base = 10'000, std::int64_t usual_context = 2048) {
    Config config = read_decoder_sizes(json, {.context = usual_context});
    config.rotary_base = usual_base;
    config.norm_kind = NormKind::Rms;
    config.ffn_gated = true;
    config.d_ff = required_size(json, "intermediate_size");
    config.activation = read_activation_word(json, "hidden_act", Activation::Silu);
    config.layer_norm_eps = 1e-6;
    json.read("rms_norm_eps", config.layer_norm_eps, 1e-30, 1);
    read_rotary(json, config);
    return config;
}

void read_attention_bias(JsonObject& json, Config& config) {
    json.read("attention_bias", config.qkv_bias);
    config.output_bias = config.qkv_bias;
}

Config read_biased(JsonObject& json, double usual_base, std::int64_t usual_context) {
    Config config = read_decoder(json, usual_base, usual_context);
    read_attention_bias(json, config);
    json.read("mlp_bias", config.ffn_bias);
    return config;
}

Config read_llama_config(JsonObject& json) { return read_biased(json, 10'000, 2048); }

Config read_mistral_config(JsonObject& json) {
    Config config = read_decoder(json, 10'000, 131'072);
    read_one_window(json, read_window(json, 4096), config);
    return config;
}

/// sliding_window is present even if no layer uses it.
void read_qwen_windows(JsonObject& json, Config& config) {
    bool windowed = false;
    json.read("use_sliding_window", windowed);
    if (!windowed) return;
    std::int64_t first = 28;
    json.read("max_window_layers", first, 0, std::int64_t{1} << 20);
    read_windows(json, read_window(json, 4096), config, [first](std::int64_t layer) { return layer >= first; });
}

Config read_qwen2_config(JsonObject& json) {
    Config config = read_decoder(json, 10'000, 32'768);
    config.qkv_bias = true;
    read_qwen_windows(json, config);
    return config;
}

Config read_qwen3_config(JsonObject& json) {
    Config config = read_decoder(json, 10'000, 32'768);
    if (config.d_head == 0) config.d_head = 128;
    read_attention_bias(json, config);
    config.qk_norm = QueryKeyNorm::PerHead;
    read_qwen_windows(json, config);
    return config;
}

/// Some layers do without RoPE; if there are windows at all, these layers have them.
Config read_smollm3_config(JsonObject& json) {
    Config config = read_biased(json, 2e6, 32'768);
    // The published file does not list what is usual for its class.
    if (!json.has("tie_word_embeddings")) config.tied_lm_head = true;
    std::int64_t interval = 4;
    json.read("no_rope_layer_interval", interval, 1, std::int64_t{1} << 20);
    std::vector<double> turns;
    if (json.read("no_rope_layers", turns, 0, 1) && static_cast<std::int64_t>(turns.size()) != config.num_layers)
        json.fail("no_rope_layers", fmt::format("has {} entries for {} layers", turns.size(), config.num_layers), FileFault::Schema);
    const auto stays = [&](std::int64_t layer) {
        return turns.empty() ? (layer + 1) % interval == 0 : turns[static_cast<std::size_t>(layer)] == 0;
    };
    bool windowed = false;
    json.read("use_sliding_window", windowed);
    read_windows(json, read_window(json, 0), config, [&](std::int64_t layer) { return windowed && stays(layer); });
    config.layer_kinds.resize(static_cast<std::size_t>(config.num_layers));
    for (std::int64_t layer = 0; layer < config.num_layers; ++layer)
        if (stays(layer)) config.layer_kinds[static_cast<std::size_t>(layer)].rotary = LayerRotary::None;
    return config;
}

Config read_olmo2_config(JsonObject& json) {
    Config config = read_decoder(json);
    if (!json.has("rms_norm_eps")) config.layer_norm_eps = 1e-5;
    read_attention_bias(json, config);
    config.norm = NormPlacement::Output;
    config.qk_norm = QueryKeyNorm::AllHeads;
    return config;
}

std::vector<TensorSource> llama_tensors(const Config& config) {
    std::vector<TensorSource> out{{"token_embedding.weight", "embed_tokens.weight"}};
    for (std::int64_t layer = 0; layer < config.num_layers; ++layer) {
        const std::string name = fmt::format("layers.{}.", layer);
        if (config.norms_input()) add_norm(out, name + "norm_1", name + "input_layernorm", config);
        add_self_attn(out, name, "o_proj", config);
        if (config.norms_input()) add_norm(out, name + "norm_2", name + "post_attention_layernorm", config);
        if (config.norms_result()) {
            add_norm(out, name + "attention_norm", name + "post_attention_layernorm", config);
            add_norm(out, name + "ffn_norm", name + "post_feedforward_layernorm", config);
        }
        add_linear(out, name + "ffn.gate", name + "mlp.gate_proj", true, config.ffn_bias);
        add_linear(out, name + "ffn.in", name + "mlp.up_proj", true, config.ffn_bias);
        add_linear(out, name + "ffn.out", name + "mlp.down_proj", true, config.ffn_bias);
    }
    add_norm(out, "final_norm", "norm", config);
    if (!config.tied_lm_head) out.push_back({"lm_head.weight", "lm_head.weight", true});
    return out;
}

bool is_llama(const Config& config) {
    return config.architecture == Architecture::DecoderOnly && config.norm == NormPlacement::Pre && config.norm_kind == NormKind::Rms &&
           config.position == PositionKind::Rotary && config.ffn_gated && config.feed_forward && config.residual && config.final_norm &&
           config.lm_head && config.output_projection && config.qkv_bias == config.output_bias && !config.scale_by_layer &&
           !has_later_parts(config) && config.rotary_stretch.kind <= RotaryScaling::Llama3;
}

Json rope_scaling(const Config& config) {
    const RotaryStretch& stretch = config.rotary_stretch;
    if (stretch.kind == RotaryScaling::None) return nullptr;
    Json out{{"rope_type", stretch.kind == RotaryScaling::Linear ? "linear" : "llama3"}, {"factor", stretch.factor}};
    if (stretch.kind == RotaryScaling::Linear) return out;
    out["low_freq_factor"] = stretch.low;
    out["high_freq_factor"] = stretch.high;
    out["original_max_position_embeddings"] = stretch.original_context;
    return out;
}

std::string llama_config_json(const Config& config) {
    const Json json{{"architectures", {"LlamaForCausalLM"}},
                    {"model_type", "llama"},
                    {"vocab_size", config.vocab_size},
                    {"max_position_embeddings", config.context_length},
                    {"hidden_size", config.d_model},
                    {"intermediate_size", config.d_ff},
                    {"num_hidden_layers", config.num_layers},
                    {"num_attention_heads", config.num_heads},
                    {"num_key_value_heads", config.kv_heads()},
                    {"head_dim", config.head_size()},
                    {"hidden_act", activation_word(config.activation)},
                    {"rms_norm_eps", config.layer_norm_eps},
                    {"rope_theta", config.rotary_base},
                    {"rope_scaling", rope_scaling(config)},
                    {"attention_bias", config.qkv_bias},
                    {"mlp_bias", config.ffn_bias},
                    {"tie_word_embeddings", config.tied_lm_head},
                    {"torch_dtype", "float32"}};
    return json.dump(2) + "\n";
}

constexpr Family llama_like(std::string_view name, std::span<const std::string_view> types, Config (*read)(JsonObject&)) {
    return {.name = name,
            .model_types = types,
            .prefixes = kLlamaPrefixes,
            .read_config = read,
            .tensors = llama_tensors,
            .leftover = usual_leftover};
}

constexpr Family written_too(Family family) {
    family.names = is_llama;
    family.config_json = llama_config_json;
    return family;
}

}  // namespace

constinit const Family kLlamaFamily = written_too(llama_like("Llama", kLlamaTypes, read_llama_config));
constinit const Family kMistralFamily = llama_like("Mistral", kMistralTypes, read_mistral_config);
constinit const Family kQwen2Family = llama_like("Qwen2", kQwen2Types, read_qwen2_config);
constinit const Family kQwen3Family = llama_like("Qwen3", kQwen3Types, read_qwen3_config);
constinit const Family kSmolLm3Family = llama_like("SmolLM3", kSmolLm3Types, read_smollm3_config);
constinit const Family kOlmo2Family = llama_like("OLMo2", kOlmo2Types, read_olmo2_config);

}  // namespace attn
