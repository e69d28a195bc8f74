/// Reads the RoPE settings of a config.json (huggingface/transformers, modeling_rope_utils.py).

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "engine/families/shared_parts.hpp"

namespace attn {
namespace {

constexpr double kLeast = std::numeric_limits<double>::min(), kMost = 1e9;
constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;

/// The original context length; `top` is the one at the top level, which comes first, or 0.
void read_original_context(JsonObject& json, const Config& config, std::int64_t top, RotaryStretch& stretch) {
    stretch.original_context = config.context_length;
    json.read("original_max_position_embeddings", stretch.original_context, 1, kMostTokens);
    if (top > 0) stretch.original_context = top;
}

void read_yarn(JsonObject& json, const Config& config, RotaryStretch& stretch) {
    stretch.kind = RotaryScaling::Yarn;
    stretch.low = 1;
    stretch.high = 32;
    json.read("beta_slow", stretch.low, kLeast, kMost);
    json.read("beta_fast", stretch.high, kLeast, kMost);
    json.read("truncate", stretch.whole_pairs);
    // The factor defaults to the ratio of the two context lengths.
    if (!json.read("factor", stretch.factor, 1, kMost))
        stretch.factor = static_cast<double>(config.context_length) / static_cast<double>(stretch.original_context);
    const auto softened = [&](double scale) { return stretch.factor <= 1 ? 1 : 0.1 * scale * std::log(stretch.factor) + 1; };
    double own = 0, all = 0;
    json.read("mscale", own, 0, kMost);
    json.read("mscale_all_dim", all, 0, kMost);
    stretch.amplitude = own > 0 && all > 0 ? softened(own) / softened(all) : softened(1);
    json.read("attention_factor", stretch.amplitude, kLeast, kMost);
}

void read_longrope(JsonObject& json, const Config& config, RotaryStretch& stretch) {
    stretch.kind = RotaryScaling::LongRope;
    if (!json.read("short_factor", stretch.short_factors, kLeast, kMost)) json.fail_missing("short_factor");
    if (!json.read("long_factor", stretch.long_factors, kLeast, kMost)) json.fail_missing("long_factor");
    // The factor only matters for the amplitude, and defaults to the ratio of the two context lengths.
    double longer = static_cast<double>(config.context_length) / static_cast<double>(stretch.original_context);
    json.read("factor", longer, kLeast, kMost);
    if (longer > 1) stretch.amplitude = std::sqrt(1 + std::log(longer) / std::log(static_cast<double>(stretch.original_context)));
    json.read("attention_factor", stretch.amplitude, kLeast, kMost);
    for (const char* key : {"short_mscale", "long_mscale"})
        if (json.has(key)) json.fail(key, "would need different factors for short and long texts", FileFault::Unsupported);
}

/// Starts beyond the model's context length, whatever the original one.
void read_dynamic(JsonObject& json, const Config& config, RotaryStretch& stretch) {
    stretch.kind = RotaryScaling::Dynamic;
    stretch.original_context = config.context_length;
    if (!json.read("factor", stretch.factor, 1, kMost)) json.fail_missing("factor");
}

/// Reads frequency scaling. `original` is the original context length given at the top level, or 0.
void read_stretch(JsonObject& json, const Config& config, std::int64_t original, RotaryStretch& stretch) {
    std::string type = "default";
    const char* name = json.has("rope_type") ? "rope_type" : "type";
    json.read(name, type);
    if (type == "default") return;
    if (type == "dynamic") return read_dynamic(json, config, stretch);
    read_original_context(json, config, original, stretch);
    if (type == "yarn") return read_yarn(json, config, stretch);
    if (type == "longrope" || type == "su") return read_longrope(json, config, stretch);
    if (type != "linear" && type != "llama3")
        json.fail(name, fmt::format("is \"{}\", which is not supported; expected linear, dynamic, llama3, yarn or longrope", escaped(type)),
                  FileFault::Unsupported);
    stretch.kind = type == "linear" ? RotaryScaling::Linear : RotaryScaling::Llama3;
    if (!json.read("factor", stretch.factor, 1, kMost)) json.fail_missing("factor");
    if (type == "linear") return;
    if (!json.read("low_freq_factor", stretch.low, kLeast, kMost)) json.fail_missing("low_freq_factor");
    if (!json.read("high_freq_factor", stretch.high, kLeast, kMost)) json.fail_missing("high_freq_factor");
}

void read_keys(JsonObject& json, double& base, double& share, const char* base_key = "rope_theta",
               const char* share_key = "partial_rotary_factor") {
    json.read(base_key, base, kLeast, std::numeric_limits<double>::max());
    json.read(share_key, share, 0, 1);
}

std::int64_t rotated(const Config& config, double share) {
    return static_cast<std::int64_t>(static_cast<double>(config.head_size()) * share);
}

/// Rotation takes dimensions in pairs; `key` is what the share was read from.
void expect_pairs(const JsonObject& json, std::string_view key, const Config& config, double share) {
    const std::int64_t turned = rotated(config, share);
    if (share != 1 && (turned < 2 || turned % 2 != 0))
        json.fail(key, fmt::format("rotates {} of the {} dimensions of a head; expected an even number of at least 2", turned,
                                   config.head_size()));
}

}  // namespace

void read_rotary(JsonObject& json, Config& config, double usual_share, bool names_of_neox, std::int64_t usual_original) {
    config.position = PositionKind::Rotary;
    double share = usual_share > 0 ? usual_share : 1;
    std::int64_t original = usual_original;
    json.read("original_max_position_embeddings", original, 1, kMostTokens);
    read_keys(json, config.rotary_base, share);
    if (names_of_neox) read_keys(json, config.rotary_base, share, "rotary_emb_base", "rotary_pct");
    // If both are there, transformers takes the older one.
    const bool older = json.optional_object("rope_scaling").has_value();
    for (const char* key : {"rope_parameters", "rope_scaling"}) {
        auto rotary = json.optional_object(key);
        if (!rotary || (older && std::string_view(key) == "rope_parameters")) continue;
        // Some families have separate settings for each kind of layer.
        if (auto local = rotary->optional_object("sliding_attention")) {
            double unused = 1;
            RotaryStretch none;
            read_keys(*local, config.rotary_local_base, unused);
            read_stretch(*local, config, 0, none);
            if (none.kind != RotaryScaling::None)
                local->fail("rope_type", "would need scaled rotary positions in layers with a window", FileFault::Unsupported);
        }
        auto full = rotary->optional_object("full_attention");
        JsonObject& used = full ? *full : *rotary;
        read_keys(used, config.rotary_base, share);
        if (used.has("partial_rotary_factor")) expect_pairs(used, "partial_rotary_factor", config, share);
        read_stretch(used, config, full ? 0 : original, config.rotary_stretch);
    }
    if (usual_share == 0 && share != 1)
        json.fail("partial_rotary_factor", fmt::format("is {}, but models of this family rotate whole heads", share),
                  FileFault::Unsupported);
    expect_pairs(json, names_of_neox && json.has("rotary_pct") ? "rotary_pct" : "partial_rotary_factor", config, share);
    config.rotary_size = share == 1 ? 0 : rotated(config, share);
}

}  // namespace attn
