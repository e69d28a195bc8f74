#include "engine/plan/rotary.hpp"

#include <cmath>
#include <numbers>

namespace attn {
namespace {

double stretched(const RotaryStretch& stretch, double frequency) {
    const double slow = frequency / stretch.factor;
    if (stretch.kind == RotaryScaling::None) return frequency;
    if (stretch.kind == RotaryScaling::Linear) return slow;
    const double turns = static_cast<double>(stretch.original_context) * frequency / (2 * std::numbers::pi);
    if (turns > stretch.high) return frequency;
    if (turns < stretch.low) return slow;
    const double share = (turns - stretch.low) / (stretch.high - stretch.low);
    return (1 - share) * slow + share * frequency;
}

}  // namespace

std::vector<double> rotary_frequencies(const Config& config) {
    const std::int64_t size = config.head_size();
    std::vector<double> frequencies;
    for (std::int64_t i = 0; i < size / 2; ++i)
        frequencies.push_back(
            stretched(config.rotary_stretch, std::pow(config.rotary_base, -2 * static_cast<double>(i) / static_cast<double>(size))));
    return frequencies;
}

}  // namespace attn
