#include "engine/families/llama_names.hpp"

#include <array>
#include <utility>

#include "engine/io/json.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

/// Parts of a layer, and of a model.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kLlamaLayer = {{{"norm_1", "input_layernorm"},
                                                                                       {"attention.q", "self_attn.q_proj"},
                                                                                       {"attention.k", "self_attn.k_proj"},
                                                                                       {"attention.v", "self_attn.v_proj"},
                                                                                       {"attention.out", "self_attn.o_proj"},
                                                                                       {"norm_2", "post_attention_layernorm"},
                                                                                       {"ffn.gate", "mlp.gate_proj"},
                                                                                       {"ffn.in", "mlp.up_proj"},
                                                                                       {"ffn.out", "mlp.down_proj"}}};
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kLlamaModel = {
    {{"token_embedding", "model.embed_tokens"}, {"final_norm", "model.norm"}, {"lm_head", "lm_head"}}};

const char* llama_activation(Activation activation) {
    switch (activation) {
    case Activation::Relu:
        return "relu";
    case Activation::GeluErf:
        return "gelu";
    case Activation::GeluTanh:
        return "gelu_pytorch_tanh";
    case Activation::Silu:
        return "silu";
    }
    return "";
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

}  // namespace

bool is_llama(const Config& config) {
    return config.architecture == Architecture::DecoderOnly && config.norm == NormPlacement::Pre && config.norm_kind == NormKind::Rms &&
           config.position == PositionKind::Rotary && config.ffn_gated && config.feed_forward && config.residual && config.final_norm &&
           config.lm_head && config.output_projection && config.qkv_bias == config.output_bias && !config.scale_by_layer &&
           !has_later_parts(config) && config.rotary_stretch.kind <= RotaryScaling::Llama3;
}

std::string llama_name(std::string_view ours) {
    constexpr std::string_view kLayers = "layers.";
    const std::size_t last_dot = ours.rfind('.');
    std::string_view part = ours.substr(0, last_dot);
    const auto translated = [&](const std::string& before, const auto& names) {
        for (const auto& [our_name, their_name] : names)
            if (our_name == part) return before + std::string(their_name) + std::string(ours.substr(last_dot));
        throw Error("Llama has no name for the parameter " + std::string(ours));
    };
    if (!part.starts_with(kLayers)) return translated("", kLlamaModel);
    const std::size_t dot = part.find('.', kLayers.size());
    const std::string before = "model." + std::string(part.substr(0, dot + 1));
    part.remove_prefix(dot + 1);
    return translated(before, kLlamaLayer);
}

std::string llama_config_json(const Config& config) {
    if (!is_llama(config)) throw ConfigError("this model is not a Llama");
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
                    {"hidden_act", llama_activation(config.activation)},
                    {"rms_norm_eps", config.layer_norm_eps},
                    {"rope_theta", config.rotary_base},
                    {"rope_scaling", rope_scaling(config)},
                    {"attention_bias", config.qkv_bias},
                    {"mlp_bias", config.ffn_bias},
                    {"tie_word_embeddings", config.tied_lm_head},
                    {"torch_dtype", "float32"}};
    return json.dump(2) + "\n";
}

}  // namespace attn
