#include "engine/plan/rotary.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attn {
namespace {

double lowered_by_turns(const RotaryStretch& stretch, double frequency) {
    const double slow = frequency / stretch.factor;
    const double turns = static_cast<double>(stretch.original_context) * frequency / (2 * std::numbers::pi);
    if (turns > stretch.high) return frequency;
    if (turns < stretch.low) return slow;
    const double share = (turns - stretch.low) / (stretch.high - stretch.low);
    return (1 - share) * slow + share * frequency;
}

/// The pair number, not always whole, that turns `turns` times in the original context.
double pair_that_turns(const RotaryRule& rule, double turns) {
    const double context = static_cast<double>(rule.stretch.original_context), size = static_cast<double>(rule.size);
    return size * std::log(context / (turns * 2 * std::numbers::pi)) / (2 * std::log(rule.base));
}

double lowered_by_ramp(const RotaryRule& rule, double frequency, std::int64_t pair) {
    const RotaryStretch& stretch = rule.stretch;
    double from = pair_that_turns(rule, stretch.high), to = pair_that_turns(rule, stretch.low);
    if (stretch.whole_pairs) from = std::floor(from), to = std::ceil(to);
    from = std::max(from, 0.0);
    to = std::min(to, static_cast<double>(rule.size - 1));
    constexpr double kLeastWidth = 0.001;  // the same as in transformers
    const double ramp = std::clamp((static_cast<double>(pair) - from) / (to == from ? kLeastWidth : to - from), 0.0, 1.0);
    return frequency / stretch.factor * ramp + frequency * (1 - ramp);
}

double stretched(const RotaryRule& rule, double frequency, std::int64_t pair, std::int64_t tokens) {
    const RotaryStretch& stretch = rule.stretch;
    switch (stretch.kind) {
    case RotaryScaling::None:
    case RotaryScaling::Dynamic:
        return frequency;
    case RotaryScaling::Linear:
        return frequency / stretch.factor;
    case RotaryScaling::Llama3:
        return lowered_by_turns(stretch, frequency);
    case RotaryScaling::Yarn:
        return lowered_by_ramp(rule, frequency, pair);
    case RotaryScaling::LongRope: {
        const std::vector<double>& factors = tokens > stretch.original_context ? stretch.long_factors : stretch.short_factors;
        return frequency / factors.at(static_cast<std::size_t>(pair));
    }
    }
    return frequency;
}

/// The base for a text of this length; only Dynamic changes it.
double base_for(const RotaryRule& rule, std::int64_t tokens) {
    const RotaryStretch& stretch = rule.stretch;
    if (stretch.kind != RotaryScaling::Dynamic || tokens <= stretch.original_context) return rule.base;
    const double longer = static_cast<double>(tokens) / static_cast<double>(stretch.original_context),
                 size = static_cast<double>(rule.size);
    return rule.base * std::pow(stretch.factor * longer - (stretch.factor - 1), size / (size - 2));
}

}  // namespace

RotaryRule rotary_rule(const Config& config, std::int64_t layer) {
    if (config.layer_kind(layer).rotary == LayerRotary::Local) return {config.rotary_local_base, config.rotated_size(), {}};
    return {config.rotary_base, config.rotated_size(), config.rotary_stretch};
}

std::vector<double> rotary_frequencies(const RotaryRule& rule, std::int64_t tokens) {
    std::vector<double> frequencies;
    const double base = base_for(rule, tokens);
    for (std::int64_t i = 0; i < rule.size / 2; ++i) {
        const double plain = std::pow(base, -2 * static_cast<double>(i) / static_cast<double>(rule.size));
        frequencies.push_back(stretched(rule, plain, i, tokens));
    }
    return frequencies;
}

bool same_frequencies(const RotaryRule& rule, std::int64_t tokens, std::int64_t other) {
    const std::int64_t original = rule.stretch.original_context;
    if (rule.stretch.kind == RotaryScaling::LongRope) return (tokens > original) == (other > original);
    return rule.stretch.kind != RotaryScaling::Dynamic || std::max(tokens, original) == std::max(other, original);
}

}  // namespace attn
