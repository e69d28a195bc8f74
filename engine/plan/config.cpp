#include "engine/plan/config.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "engine/tensor/error.hpp"

namespace attn {
namespace {

constexpr std::int64_t kMaxParameters = std::int64_t{1} << 34;

void require_range(std::string_view what, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value >= low && value <= high) return;
    throw ConfigError(std::string(what) + " is " + std::to_string(value) + "; expected " + std::to_string(low) + " to " +
                      std::to_string(high));
}

void require_divisible(const Config& config) {
    if (config.d_head > 0 || config.d_model % config.num_heads == 0) return;
    const std::int64_t below = config.d_model / config.num_heads * config.num_heads;
    const std::string above = std::to_string(below + config.num_heads);
    throw ConfigError("d_model " + std::to_string(config.d_model) + " is not divisible by " + std::to_string(config.num_heads) +
                      " heads: " + (below > 0 ? std::to_string(below) + " or " + above : above) + " would be");
}

void require_groups(const Config& config) {
    if (config.num_heads % config.kv_heads() == 0) return;
    std::string possible;
    for (std::int64_t heads = 1; heads <= config.num_heads; ++heads)
        if (config.num_heads % heads == 0) possible += (possible.empty() ? "" : ", ") + std::to_string(heads);
    throw ConfigError("num_kv_heads " + std::to_string(config.num_kv_heads) + " does not divide the " + std::to_string(config.num_heads) +
                      " heads evenly; expected one of " + possible);
}

void require_factors(const char* name, const std::vector<double>& factors, std::int64_t pairs) {
    const bool right = static_cast<std::int64_t>(factors.size()) == pairs &&
                       std::all_of(factors.begin(), factors.end(), [](double factor) { return factor > 0 && std::isfinite(factor); });
    if (!right)
        throw ConfigError(std::string("rotary_stretch.") + name + ": expected " + std::to_string(pairs) +
                          " positive numbers, one for each rotated pair");
}

void require_stretch(const RotaryStretch& stretch, std::int64_t pairs) {
    if (!(stretch.factor >= 1 && std::isfinite(stretch.factor)))
        throw ConfigError("rotary_stretch.factor is " + std::to_string(stretch.factor) + "; expected a number of at least 1");
    if (!(stretch.low > 0 && stretch.high > stretch.low && std::isfinite(stretch.high)) || stretch.original_context < 1)
        throw ConfigError("rotary_stretch: expected 0 < low < high and an original context of at least 1");
    if (!(stretch.amplitude > 0 && std::isfinite(stretch.amplitude)))
        throw ConfigError("rotary_stretch.amplitude is " + std::to_string(stretch.amplitude) + "; expected a number above 0");
    if (stretch.kind == RotaryScaling::Dynamic && pairs < 2)
        throw ConfigError("rotary_stretch: dynamic scaling needs at least two rotated pairs");
    if (stretch.kind != RotaryScaling::LongRope) return;
    require_factors("short_factors", stretch.short_factors, pairs);
    require_factors("long_factors", stretch.long_factors, pairs);
}

/// RoPE rotates pairs of numbers.
void require_rotatable(const Config& config) {
    if (config.position != PositionKind::Rotary) return;
    if (config.rotary_size == 0 && config.head_size() % 2 != 0)
        throw ConfigError("d_head " + std::to_string(config.head_size()) + " is odd; rotary positions need an even one");
    if (config.rotary_size < 0 || config.rotary_size % 2 != 0 || config.rotary_size > config.head_size())
        throw ConfigError("rotary_size is " + std::to_string(config.rotary_size) +
                          "; expected an even number up to d_head = " + std::to_string(config.head_size()) + ", or 0 for all of it");
    for (const auto& [name, base] : {std::pair{"rotary_base", config.rotary_base}, {"rotary_local_base", config.rotary_local_base}})
        if (!(base > 0 && std::isfinite(base)))
            throw ConfigError(std::string(name) + " is " + std::to_string(base) + "; expected a positive number such as 10000");
    require_stretch(config.rotary_stretch, config.rotated_size() / 2);
}

/// Without W_O the stream becomes as wide as all heads together, so no layer may follow.
void require_width_kept(const Config& config) {
    if (config.output_projection || config.attention_width() == config.d_model) return;
    const bool normed = config.norm == NormPlacement::Post || config.norms_result();
    const bool nothing_follows = config.num_layers == 1 && !config.residual && !config.feed_forward && !config.final_norm &&
                                 !config.lm_head && !normed && config.architecture != Architecture::EncoderDecoder;
    if (nothing_follows) return;
    throw ConfigError("without an output projection the heads' width " + std::to_string(config.attention_width()) + " (" +
                      std::to_string(config.num_heads) + " x " + std::to_string(config.head_size()) + ") must equal d_model " +
                      std::to_string(config.d_model) + ", or nothing may follow the attention");
}

void require_bounded_size(const Config& config) {
    const double attention = 4.0 * static_cast<double>(config.d_model) * static_cast<double>(config.attention_width());
    const double feed_forward =
        config.feed_forward ? (config.ffn_gated ? 3.0 : 2.0) * static_cast<double>(config.d_model) * static_cast<double>(config.d_ff) : 0;
    // A decoder's layer also has cross-attention.
    const double layers = config.architecture == Architecture::EncoderDecoder
                              ? static_cast<double>(config.layers_of(Stack::Encoder)) + 2.0 * static_cast<double>(config.num_layers)
                              : static_cast<double>(config.num_layers);
    const double embeddings = static_cast<double>(std::max(config.d_model, config.d_embedding)) *
                              static_cast<double>(2 * config.vocab_size + config.context_length);
    const double total = embeddings + layers * (attention + feed_forward);
    if (total > static_cast<double>(kMaxParameters))
        throw ConfigError("the model would have about " + std::to_string(static_cast<std::int64_t>(total / 1e9)) +
                          " billion parameters; at most " +
                          std::to_string(static_cast<std::int64_t>(static_cast<double>(kMaxParameters) / 1e9)) + " billion are possible");
}

void require_kinds(const Config& config) {
    require_range("the number of layer_kinds", static_cast<std::int64_t>(config.layer_kinds.size()), 0, std::int64_t{1} << 10);
    for (const LayerKind& kind : config.layer_kinds) require_range("a layer's window", kind.window, 0, std::int64_t{1} << 40);
}

/// Cross-attention has no norm for its output.
void require_norm_of_results(const Config& config) {
    if (config.norms_result() && config.architecture == Architecture::EncoderDecoder)
        throw ConfigError("norms of sublayer outputs need a model with a single stack");
}

/// Parallel blocks both add to the stream they read.
void require_parallel(const Config& config) {
    if (config.order == BlockOrder::InTurn) return;
    if (config.norm == NormPlacement::Post || config.architecture == Architecture::EncoderDecoder || !config.residual)
        throw ConfigError("attention and feed-forward in parallel need residual connections, a single stack, and no norm after the sum");
    if (config.order == BlockOrder::ParallelOneNorm && !config.norms_input())
        throw ConfigError("attention and feed-forward can share a norm only if it comes before them");
}

/// Both sublayers need a norm of their own.
void require_residual_from_norm(const Config& config) {
    if (!config.residual_from_norm) return;
    if (!config.residual || !config.norms_input() || config.order != BlockOrder::InTurn ||
        config.architecture == Architecture::EncoderDecoder)
        throw ConfigError(
            "residual connections that start after the norm need a single stack, norms before the sublayers, and attention and "
            "feed-forward one after the other");
}

void require_factor(std::string_view what, double value) {
    if (!(value >= 0 && std::isfinite(value)))
        throw ConfigError(std::string(what) + " is " + std::to_string(value) + "; expected a number of at least 0");
}

/// Half of the buckets are for single distances; in an encoder, half of all are for keys after the query.
void require_buckets(const Config& config) {
    if (config.position != PositionKind::Buckets) return;
    require_range("position_buckets", config.position_buckets, 4, std::int64_t{1} << 16);
    require_range("position_distance", config.position_distance, config.position_buckets / 2 + 1, std::int64_t{1} << 40);
}

/// A tied head needs the width of the embedding.
void require_embedding(const Config& config) {
    require_range("num_segments", config.num_segments, 0, std::int64_t{1} << 16);
    if (!std::isfinite(config.head_factor)) throw ConfigError("head_factor is not a finite number");
    require_range("d_embedding", config.d_embedding, 0, std::int64_t{1} << 16);
    if (!std::isfinite(config.embedding_factor)) throw ConfigError("embedding_factor is not a finite number");
}

}  // namespace

bool has_later_parts(const Config& config) {
    Config plain = config;
    plain.qk_norm = QueryKeyNorm::None;
    plain.order = BlockOrder::InTurn;
    plain.score_factor = plain.score_cap = plain.logit_cap = 0;
    plain.residual_from_norm = plain.lm_head_bias = plain.embedding_norm = plain.head_transform = plain.stack_positions = false;
    plain.num_segments = plain.encoder_layers = plain.encoder_ff = 0;
    plain.head_factor = 1;
    plain.embedding_factor = 1;
    plain.d_embedding = plain.rotary_size = 0;
    plain.layer_kinds.clear();
    return plain != config || config.norms_result() || config.norm_kind == NormKind::RmsPlusOne || config.position >= PositionKind::Alibi;
}

void validate(const Config& config) {
    require_range("vocab_size", config.vocab_size, 1, std::int64_t{1} << 24);
    require_range("context_length", config.context_length, 1, kMostPositions);
    if (config.any_length && config.position == PositionKind::Learned)
        throw ConfigError("a learned position table limits the length of texts to its context_length");
    require_range("d_model", config.d_model, 1, std::int64_t{1} << 16);
    require_range("num_heads", config.num_heads, 1, std::int64_t{1} << 12);
    require_range("num_kv_heads", config.num_kv_heads, 0, std::int64_t{1} << 12);
    require_range("d_head", config.d_head, 0, std::int64_t{1} << 16);
    require_range("num_layers", config.num_layers, 1, std::int64_t{1} << 10);
    if (config.feed_forward) require_range("d_ff", config.d_ff, 1, std::int64_t{1} << 18);
    require_divisible(config);
    require_groups(config);
    require_rotatable(config);
    require_width_kept(config);
    require_kinds(config);
    require_norm_of_results(config);
    require_parallel(config);
    require_residual_from_norm(config);
    require_embedding(config);
    require_buckets(config);
    require_range("encoder_layers", config.encoder_layers, kNoLayers, std::int64_t{1} << 10);
    require_range("encoder_ff", config.encoder_ff, 0, std::int64_t{1} << 18);
    require_factor("score_factor", config.score_factor);
    require_factor("score_cap", config.score_cap);
    require_factor("logit_cap", config.logit_cap);
    if (!(config.layer_norm_eps > 0 && std::isfinite(config.layer_norm_eps)))
        throw ConfigError("layer_norm_eps is " + std::to_string(config.layer_norm_eps) + "; expected a small positive number such as 1e-5");
    require_bounded_size(config);
}

}  // namespace attn
