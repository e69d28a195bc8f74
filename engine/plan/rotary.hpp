#pragma once
/// Frequencies of rotary position embedding (RoPE).

#include <cstdint>
#include <vector>

#include "engine/plan/config.hpp"

namespace attn {

/// How a layer rotates queries and keys: in the first `size` numbers of a head, number i is paired with i + size/2 and rotated by position
/// * frequency i.
struct RotaryRule {
    double base = 10000;
    std::int64_t size = 0;
    RotaryStretch stretch{};
    bool operator==(const RotaryRule&) const = default;
};
/// The rule of a layer that uses RoPE.
RotaryRule rotary_rule(const Config& config, std::int64_t layer);

/// The angle each pair turns per position, [size/2], in a text of `tokens` tokens: f_i = base^(-2i/size), changed for longer texts than the
/// model was first trained on (huggingface/transformers, modeling_rope_utils.py):
///   Linear    f_i / factor
///   Llama3    with wavelength w = 2 pi / f_i and original context L: f_i if w < L / high, f_i / factor if w > L / low, and in between
///             (1 - s) f_i / factor + s f_i with s = (L / w - low) / (high - low)
///   Yarn      (Peng et al., 2023) r f_i / factor + (1 - r) f_i, where r rises from 0 to 1 between the pairs that turn `high` and `low`
///             times in L positions; pair d(n) = size ln(L / (2 pi n)) / (2 ln base) turns n times
///   LongRope  (Ding et al., 2024) f_i / long_factors[i] in texts of more than L tokens, else f_i / short_factors[i]
///   Dynamic   f_i of another base: base (factor n / L - factor + 1)^(size / (size - 2)), where n is the number of tokens, at least L
std::vector<double> rotary_frequencies(const RotaryRule& rule, std::int64_t tokens);
/// Whether texts of these lengths have the same frequencies.
bool same_frequencies(const RotaryRule& rule, std::int64_t tokens, std::int64_t other);

}  // namespace attn
