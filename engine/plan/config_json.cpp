#include "engine/plan/config_json.hpp"

#include <array>
#include <limits>

#include "engine/io/json_fields.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

// In the order of the enumerations.
constexpr std::array<std::string_view, 3> kArchitectures = {"encoder", "decoder_only", "encoder_decoder"};
constexpr std::array<std::string_view, 3> kNorms = {"none", "pre", "post"};
constexpr std::array<std::string_view, 2> kNormKinds = {"layer_norm", "rms"};
constexpr std::array<std::string_view, 4> kActivations = {"relu", "gelu_erf", "gelu_tanh", "silu"};
constexpr std::array<std::string_view, 4> kPositions = {"none", "learned", "sinusoidal", "rotary"};
constexpr std::array<std::string_view, 3> kStretches = {"none", "linear", "llama3"};
constexpr std::array<std::string_view, 4> kInits = {"gpt2", "transformer", "vivid", "numpy"};

constexpr std::int64_t kMaxSize = std::numeric_limits<std::int32_t>::max();
}  // namespace

Json to_json(const Config& config, ConfigFields fields) {
    Json out{{"architecture", name_of(kArchitectures, config.architecture)},
             {"vocab_size", config.vocab_size},
             {"context_length", config.context_length},
             {"d_model", config.d_model},
             {"num_heads", config.num_heads},
             {"d_head", config.d_head},
             {"num_layers", config.num_layers},
             {"d_ff", config.d_ff},
             {"separate_heads", config.separate_heads},
             {"qkv_bias", config.qkv_bias},
             {"output_projection", config.output_projection},
             {"output_bias", config.output_bias},
             {"residual", config.residual},
             {"feed_forward", config.feed_forward},
             {"final_norm", config.final_norm},
             {"lm_head", config.lm_head},
             {"tied_lm_head", config.tied_lm_head},
             {"norm", name_of(kNorms, config.norm)},
             {"activation", name_of(kActivations, config.activation)},
             {"position", name_of(kPositions, config.position)},
             {"layer_norm_eps", finite("layer_norm_eps", config.layer_norm_eps)},
             {"init", name_of(kInits, config.init)},
             {"seed", config.seed}};
    // Models without these parts are written as they were before the parts existed.
    const Config usual;
    const auto add = [&](const char* name, const auto& value, bool differs) {
        if (differs || fields == ConfigFields::All) out[name] = value;
    };
    add("num_kv_heads", config.num_kv_heads, config.num_kv_heads != usual.num_kv_heads);
    add("norm_kind", name_of(kNormKinds, config.norm_kind), config.norm_kind != usual.norm_kind);
    add("ffn_gated", config.ffn_gated, config.ffn_gated != usual.ffn_gated);
    add("scale_by_layer", config.scale_by_layer, config.scale_by_layer);
    add("ffn_bias", config.ffn_bias, config.ffn_bias != usual.ffn_bias);
    add("rotary_base", finite("rotary_base", config.rotary_base), config.rotary_base != usual.rotary_base);
    const RotaryStretch& stretch = config.rotary_stretch;
    if (stretch != usual.rotary_stretch)
        out["rotary_stretch"] = {{"kind", name_of(kStretches, stretch.kind)},
                                 {"factor", finite("factor", stretch.factor)},
                                 {"low", finite("low", stretch.low)},
                                 {"high", finite("high", stretch.high)},
                                 {"original_context", stretch.original_context}};
    return out;
}

Config config_from_json(JsonObject object, Config config) {
    read_enum(object, "architecture", kArchitectures, config.architecture);
    object.read("vocab_size", config.vocab_size, 1, kMaxSize);
    object.read("context_length", config.context_length, 0, kMaxSize);
    object.read("d_model", config.d_model, 1, kMaxSize);
    object.read("num_heads", config.num_heads, 1, kMaxSize);
    object.read("num_kv_heads", config.num_kv_heads, 0, kMaxSize);
    object.read("d_head", config.d_head, 0, kMaxSize);
    object.read("num_layers", config.num_layers, 0, kMaxSize);
    object.read("d_ff", config.d_ff, 1, kMaxSize);
    object.read("separate_heads", config.separate_heads);
    object.read("qkv_bias", config.qkv_bias);
    object.read("output_projection", config.output_projection);
    object.read("output_bias", config.output_bias);
    object.read("residual", config.residual);
    object.read("feed_forward", config.feed_forward);
    object.read("ffn_gated", config.ffn_gated);
    object.read("scale_by_layer", config.scale_by_layer);
    object.read("ffn_bias", config.ffn_bias);
    object.read("final_norm", config.final_norm);
    object.read("lm_head", config.lm_head);
    object.read("tied_lm_head", config.tied_lm_head);
    read_enum(object, "norm", kNorms, config.norm);
    read_enum(object, "norm_kind", kNormKinds, config.norm_kind);
    read_enum(object, "activation", kActivations, config.activation);
    read_enum(object, "position", kPositions, config.position);
    object.read("rotary_base", config.rotary_base, std::numeric_limits<double>::min(), std::numeric_limits<double>::max());
    if (auto stretch = object.optional_object("rotary_stretch")) {
        read_enum(*stretch, "kind", kStretches, config.rotary_stretch.kind);
        stretch->read("factor", config.rotary_stretch.factor, 1, std::numeric_limits<double>::max());
        stretch->read("low", config.rotary_stretch.low, std::numeric_limits<double>::min(), std::numeric_limits<double>::max());
        stretch->read("high", config.rotary_stretch.high, std::numeric_limits<double>::min(), std::numeric_limits<double>::max());
        stretch->read("original_context", config.rotary_stretch.original_context, 1, kMaxSize);
        stretch->expect_no_more();
    }
    object.read("layer_norm_eps", config.layer_norm_eps, std::numeric_limits<double>::min(), 1);
    read_enum(object, "init", kInits, config.init);
    object.read("seed", config.seed);
    object.expect_no_more();
    return config;
}

Config config_from_json(std::string_view text, std::string_view source) { return config_from_json(JsonObject(text, source)); }

}  // namespace attn
