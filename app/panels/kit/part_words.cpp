#include "app/panels/kit/part_words.hpp"

#include <fmt/format.h>

#include <cmath>

#include "app/widgets/number.hpp"

namespace attn::app {
namespace {

std::string_view position_words(PositionKind position) {
    switch (position) {
    case PositionKind::None:
        return "no positions";
    case PositionKind::Learned:
        return "learned positions";
    case PositionKind::Sinusoidal:
        return "sine";
    case PositionKind::Rotary:
        return "rotary";
    case PositionKind::Alibi:
        return "ALiBi";
    case PositionKind::Buckets:
        return "position buckets";
    }
    return {};
}

std::string_view norm_words(NormPlacement norm) {
    switch (norm) {
    case NormPlacement::None:
        return "no norm";
    case NormPlacement::Pre:
        return "pre-norm";
    case NormPlacement::Post:
        return "post-norm";
    case NormPlacement::Sandwich:
        return "norms before and after";
    case NormPlacement::Output:
        return "output norm";
    }
    return {};
}

std::string with_or_without(bool there, std::string_view what) { return fmt::format("{} {}", there ? "with" : "no", what); }

std::string base_words(double base) {
    const bool whole = base == std::floor(base) && base < 1e15;
    return whole ? format_count(static_cast<std::int64_t>(base)) : fmt::format("{:g}", base);
}

std::string feed_forward_words(const Config& config) {
    if (!config.feed_forward) return "no feed-forward";
    return fmt::format("{}{} feed-forward", config.ffn_gated ? "gated " : "",
                       kActivationNames.at(static_cast<std::size_t>(config.activation)));
}

}  // namespace

std::string parts_words(const Config& config) { return fmt::format("{}, {}", position_words(config.position), norm_words(config.norm)); }

std::vector<std::string> part_phrases(const Config& config) {
    const bool rotary = config.position == PositionKind::Rotary;
    const std::int64_t keys = config.kv_heads();
    return {config.grouped() ? fmt::format("{} K/V head{}", keys, keys == 1 ? "" : "s") : "own keys for each head",
            std::string(position_words(config.position)) + (rotary ? " with base " + base_words(config.rotary_base) : ""),
            std::string(norm_words(config.norm)),
            config.norm_kind == NormKind::LayerNorm ? "LayerNorm" : "RMSNorm",
            with_or_without(config.final_norm, "final norm"),
            with_or_without(config.output_projection, "W_O"),
            with_or_without(config.residual, "residual"),
            with_or_without(config.qkv_bias, "Q, K, V bias"),
            feed_forward_words(config),
            with_or_without(config.ffn_bias, "feed-forward bias"),
            config.tied_lm_head ? "tied output head" : "separate output head"};
}

const char* without_output_head(bool opened) {
    return opened
               ? "This model has no output head, so it predicts no token."
               : "This model has no output head, so it predicts no token. Switch on “Output head” under Model in the settings of the Step "
                 "view.";
}

}  // namespace attn::app
