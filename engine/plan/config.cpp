#include "engine/plan/config.hpp"

#include <cmath>
#include <string_view>

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

/// Rotation turns pairs of numbers.
void require_rotatable(const Config& config) {
    if (config.position != PositionKind::Rotary) return;
    if (config.head_size() % 2 != 0)
        throw ConfigError("d_head " + std::to_string(config.head_size()) + " is odd; rotary positions need an even one");
    if (!(config.rotary_base > 0 && std::isfinite(config.rotary_base)))
        throw ConfigError("rotary_base is " + std::to_string(config.rotary_base) + "; expected a positive number such as 10000");
    const RotaryStretch& stretch = config.rotary_stretch;
    if (!(stretch.factor >= 1 && std::isfinite(stretch.factor)))
        throw ConfigError("rotary_stretch.factor is " + std::to_string(stretch.factor) + "; expected a number from 1 on");
    if (!(stretch.low > 0 && stretch.high > stretch.low && std::isfinite(stretch.high)) || stretch.original_context < 1)
        throw ConfigError("rotary_stretch: expected 0 < low < high and an original context of at least 1");
}

/// Without W_O the stream becomes as wide as the heads are together, which only the end of a model can bear.
void require_width_kept(const Config& config) {
    if (config.output_projection || config.attention_width() == config.d_model) return;
    const bool nothing_follows = config.num_layers == 1 && !config.residual && !config.feed_forward && !config.final_norm &&
                                 !config.lm_head && config.norm != NormPlacement::Post &&
                                 config.architecture != Architecture::EncoderDecoder;
    if (nothing_follows) return;
    throw ConfigError("without an output projection the heads' width " + std::to_string(config.attention_width()) + " (" +
                      std::to_string(config.num_heads) + " x " + std::to_string(config.head_size()) + ") has to equal d_model " +
                      std::to_string(config.d_model) + ", or nothing may follow the attention");
}

void require_bounded_size(const Config& config) {
    const double attention = 4.0 * static_cast<double>(config.d_model) * static_cast<double>(config.attention_width());
    const double feed_forward =
        config.feed_forward ? (config.ffn_gated ? 3.0 : 2.0) * static_cast<double>(config.d_model) * static_cast<double>(config.d_ff) : 0;
    const double stacks = config.architecture == Architecture::EncoderDecoder ? 3 : 1;
    const double embeddings = static_cast<double>(config.d_model) * static_cast<double>(2 * config.vocab_size + config.context_length);
    const double total = embeddings + stacks * static_cast<double>(config.num_layers) * (attention + feed_forward);
    if (total > static_cast<double>(kMaxParameters))
        throw ConfigError("the model would have about " + std::to_string(static_cast<std::int64_t>(total / 1e9)) +
                          " billion parameters; at most " +
                          std::to_string(static_cast<std::int64_t>(static_cast<double>(kMaxParameters) / 1e9)) + " billion are possible");
}

}  // namespace

void validate(const Config& config) {
    require_range("vocab_size", config.vocab_size, 1, std::int64_t{1} << 24);
    require_range("context_length", config.context_length, 1, std::int64_t{1} << 20);
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
    if (!(config.layer_norm_eps > 0 && std::isfinite(config.layer_norm_eps)))
        throw ConfigError("layer_norm_eps is " + std::to_string(config.layer_norm_eps) + "; expected a small positive number such as 1e-5");
    require_bounded_size(config);
}

}  // namespace attn
