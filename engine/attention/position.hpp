#pragma once
/// Position encodings added to the embedding.

#include <cstdint>

namespace attn {

/// PE(t, 2i) = sin(t / 10000^(2i/C)), PE(t, 2i+1) = cos of the same angle (Vaswani et al., 2017, section 3.5), for positions t >= first.
///   ->  y [positions,width]
template <class Scalar>
void sinusoidal_positions(std::int64_t first, std::int64_t positions, std::int64_t width, Scalar* y);

}  // namespace attn
