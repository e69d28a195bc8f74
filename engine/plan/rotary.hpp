#pragma once
/// Frequencies of rotary positions.

#include <cstdint>
#include <vector>

#include "engine/plan/config.hpp"

namespace attn {

/// How a layer turns its queries and keys: the first `size` numbers of a head, i together with i + size/2, by the position times
/// frequency i.
struct RotaryRule {
    double base = 10000;
    std::int64_t size = 0;
    RotaryStretch stretch{};
    bool operator==(const RotaryRule&) const = default;
};
/// Of a layer that turns them.
RotaryRule rotary_rule(const Config& config, std::int64_t layer);

/// By which angle each pair of numbers turns from one position to the next, [size/2], in a text of so many tokens:
/// f_i = base^(-2i/size), and for longer texts than a model was first trained on (huggingface/transformers, modeling_rope_utils.py)
///   Linear    f_i / factor
///   Llama3    with the wavelength w = 2 pi / f_i and the original context L: f_i where w < L / high, f_i / factor where w > L / low, and
///             (1 - s) f_i / factor + s f_i between them, s = (L / w - low) / (high - low)
///   Yarn      (Peng et al. 2023) r f_i / factor + (1 - r) f_i, where r rises from 0 to 1 between the pairs that turn `high` and `low`
///             times in L positions, d(n) = size ln(L / (2 pi n)) / (2 ln base)
///   LongRope  (Ding et al. 2024) f_i / long_factors[i] in texts of more than L tokens, else f_i / short_factors[i]
std::vector<double> rotary_frequencies(const RotaryRule& rule, std::int64_t tokens);

}  // namespace attn
