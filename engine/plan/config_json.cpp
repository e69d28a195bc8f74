#include "engine/plan/config_json.hpp"

#include <array>
#include <limits>

#include "engine/io/json_fields.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

// In enumerator order.
constexpr std::array<std::string_view, 3> kArchitectures = {"encoder", "decoder_only", "encoder_decoder"};
constexpr std::array<std::string_view, 5> kNorms = {"none", "pre", "post", "sandwich", "output"};
constexpr std::array<std::string_view, 3> kNormKinds = {"layer_norm", "rms", "rms_plus_one"};
constexpr std::array<std::string_view, 3> kQueryKeyNorms = {"none", "per_head", "all_heads"};
constexpr std::array<std::string_view, 3> kOrders = {"in_turn", "parallel", "parallel_one_norm"};
constexpr std::array<std::string_view, 6> kActivations = {"relu", "gelu_erf", "gelu_tanh", "silu", "quick_gelu", "gelu_clipped"};
constexpr std::array<std::string_view, 6> kPositions = {"none", "learned", "sinusoidal", "rotary", "alibi", "buckets"};
constexpr std::array<std::string_view, 6> kStretches = {"none", "linear", "llama3", "yarn", "longrope", "dynamic"};
constexpr std::array<std::string_view, 3> kLayerRotaries = {"usual", "local", "none"};
constexpr std::array<std::string_view, 4> kInits = {"gpt2", "transformer", "vivid", "numpy"};

constexpr std::int64_t kMaxSize = std::numeric_limits<std::int32_t>::max();
constexpr double kLeast = std::numeric_limits<double>::min(), kMost = std::numeric_limits<double>::max();

Json to_json(const RotaryStretch& stretch) {
    Json out{{"kind", name_of(kStretches, stretch.kind)},
             {"factor", finite("factor", stretch.factor)},
             {"low", finite("low", stretch.low)},
             {"high", finite("high", stretch.high)},
             {"original_context", stretch.original_context}};
    if (stretch.kind == RotaryScaling::Yarn) out["whole_pairs"] = stretch.whole_pairs;
    if (stretch.kind >= RotaryScaling::Yarn) out["amplitude"] = finite("amplitude", stretch.amplitude);
    if (stretch.kind == RotaryScaling::LongRope) {
        out["short_factors"] = stretch.short_factors;
        out["long_factors"] = stretch.long_factors;
    }
    return out;
}

void read(JsonObject& json, RotaryStretch& stretch) {
    read_enum(json, "kind", kStretches, stretch.kind);
    json.read("factor", stretch.factor, 1, kMost);
    json.read("low", stretch.low, kLeast, kMost);
    json.read("high", stretch.high, kLeast, kMost);
    json.read("original_context", stretch.original_context, 1, kMaxSize);
    json.read("whole_pairs", stretch.whole_pairs);
    json.read("amplitude", stretch.amplitude, kLeast, kMost);
    json.read("short_factors", stretch.short_factors, kLeast, kMost);
    json.read("long_factors", stretch.long_factors, kLeast, kMost);
    json.expect_no_more();
}

Json to_json(const std::vector<LayerKind>& kinds) {
    Json out = Json::list();
    for (const LayerKind& kind : kinds) {
        Json one = Json::object();
        if (kind.window > 0) one["window"] = kind.window;
        if (kind.rotary != LayerRotary::Usual) one["rotary"] = name_of(kLayerRotaries, kind.rotary);
        out.push_back(one);
    }
    return out;
}

void read(JsonObject& json, LayerKind& kind) {
    json.read("window", kind.window, 0, kMaxSize);
    read_enum(json, "rotary", kLayerRotaries, kind.rotary);
    json.expect_no_more();
}

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
    // Fields of parts that a model does not use are left out, so that its JSON stays as it was before those parts were introduced.
    const Config usual;
    const auto add = [&](const char* name, const auto& value, bool differs) {
        if (differs || fields == ConfigFields::All) out[name] = value;
    };
    add("any_length", config.any_length, config.any_length);
    add("num_kv_heads", config.num_kv_heads, config.num_kv_heads != usual.num_kv_heads);
    add("norm_kind", name_of(kNormKinds, config.norm_kind), config.norm_kind != usual.norm_kind);
    add("ffn_gated", config.ffn_gated, config.ffn_gated != usual.ffn_gated);
    add("scale_by_layer", config.scale_by_layer, config.scale_by_layer);
    add("scaled_alibi", config.scaled_alibi, config.scaled_alibi);
    add("residual_from_norm", config.residual_from_norm, config.residual_from_norm);
    add("ffn_bias", config.ffn_bias, config.ffn_bias != usual.ffn_bias);
    add("rotary_base", finite("rotary_base", config.rotary_base), config.rotary_base != usual.rotary_base);
    add("qk_norm", name_of(kQueryKeyNorms, config.qk_norm), config.qk_norm != usual.qk_norm);
    add("score_factor", finite("score_factor", config.score_factor), config.score_factor != usual.score_factor);
    add("score_cap", finite("score_cap", config.score_cap), config.score_cap != usual.score_cap);
    add("order", name_of(kOrders, config.order), config.order != usual.order);
    add("lm_head_bias", config.lm_head_bias, config.lm_head_bias);
    add("logit_cap", finite("logit_cap", config.logit_cap), config.logit_cap != usual.logit_cap);
    add("embedding_factor", finite("embedding_factor", config.embedding_factor), config.embedding_factor != usual.embedding_factor);
    add("d_embedding", config.d_embedding, config.d_embedding != usual.d_embedding);
    add("embedding_norm", config.embedding_norm, config.embedding_norm);
    add("encoder_layers", config.encoder_layers, config.encoder_layers != usual.encoder_layers);
    add("encoder_ff", config.encoder_ff, config.encoder_ff != usual.encoder_ff);
    add("head_transform", config.head_transform, config.head_transform);
    add("head_factor", finite("head_factor", config.head_factor), config.head_factor != usual.head_factor);
    add("num_segments", config.num_segments, config.num_segments != usual.num_segments);
    add("stack_positions", config.stack_positions, config.stack_positions);
    add("position_buckets", config.position_buckets, config.position_buckets != usual.position_buckets);
    add("position_distance", config.position_distance, config.position_distance != usual.position_distance);
    add("rotary_size", config.rotary_size, config.rotary_size != usual.rotary_size);
    add("rotary_local_base", finite("rotary_local_base", config.rotary_local_base), config.rotary_local_base != usual.rotary_local_base);
    if (config.rotary_stretch != usual.rotary_stretch) out["rotary_stretch"] = to_json(config.rotary_stretch);
    if (!config.layer_kinds.empty()) out["layer_kinds"] = to_json(config.layer_kinds);
    return out;
}

Config config_from_json(JsonObject object, Config config) {
    read_enum(object, "architecture", kArchitectures, config.architecture);
    object.read("vocab_size", config.vocab_size, 1, kMaxSize);
    object.read("context_length", config.context_length, 0, kMaxSize);
    object.read("any_length", config.any_length);
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
    object.read("scaled_alibi", config.scaled_alibi);
    object.read("residual_from_norm", config.residual_from_norm);
    object.read("ffn_bias", config.ffn_bias);
    object.read("final_norm", config.final_norm);
    object.read("lm_head", config.lm_head);
    object.read("tied_lm_head", config.tied_lm_head);
    read_enum(object, "norm", kNorms, config.norm);
    read_enum(object, "norm_kind", kNormKinds, config.norm_kind);
    read_enum(object, "activation", kActivations, config.activation);
    read_enum(object, "position", kPositions, config.position);
    read_enum(object, "qk_norm", kQueryKeyNorms, config.qk_norm);
    object.read("score_factor", config.score_factor, 0, kMost);
    object.read("score_cap", config.score_cap, 0, kMost);
    read_enum(object, "order", kOrders, config.order);
    object.read("lm_head_bias", config.lm_head_bias);
    object.read("logit_cap", config.logit_cap, 0, kMost);
    object.read("embedding_factor", config.embedding_factor, -kMost, kMost);
    object.read("d_embedding", config.d_embedding, 0, kMaxSize);
    object.read("embedding_norm", config.embedding_norm);
    object.read("encoder_layers", config.encoder_layers, kNoLayers, kMaxSize);
    object.read("encoder_ff", config.encoder_ff, 0, kMaxSize);
    object.read("head_transform", config.head_transform);
    object.read("head_factor", config.head_factor, -kMost, kMost);
    object.read("num_segments", config.num_segments, 0, kMaxSize);
    object.read("stack_positions", config.stack_positions);
    object.read("position_buckets", config.position_buckets, 1, kMaxSize);
    object.read("position_distance", config.position_distance, 1, kMaxSize);
    object.read("rotary_base", config.rotary_base, kLeast, kMost);
    object.read("rotary_size", config.rotary_size, 0, kMaxSize);
    object.read("rotary_local_base", config.rotary_local_base, kLeast, kMost);
    if (auto stretch = object.optional_object("rotary_stretch")) read(*stretch, config.rotary_stretch);
    if (object.has("layer_kinds")) {
        config.layer_kinds.clear();
        for (JsonObject& kind : object.objects("layer_kinds")) read(kind, config.layer_kinds.emplace_back());
    }
    object.read("layer_norm_eps", config.layer_norm_eps, std::numeric_limits<double>::min(), 1);
    read_enum(object, "init", kInits, config.init);
    object.read("seed", config.seed);
    object.expect_no_more();
    return config;
}

Config config_from_json(std::string_view text, std::string_view source) { return config_from_json(JsonObject(text, source)); }

}  // namespace attn
