#pragma once
/// Frequencies of rotary positions.

#include <vector>

#include "engine/plan/config.hpp"

namespace attn {

/// By which angle each pair of a head's dimensions turns from one position to the next, [D/2]: f_i = base^(-2i/D), and for longer texts
/// than a model was first trained on (huggingface/transformers, modeling_rope_utils.py)
///   Linear  f_i / factor
///   Llama3  with the wavelength w = 2 pi / f_i and the original context L: f_i where w < L / high, f_i / factor where w > L / low, and
///           (1 - s) f_i / factor + s f_i between them, s = (L / w - low) / (high - low)
std::vector<double> rotary_frequencies(const Config& config);

}  // namespace attn
