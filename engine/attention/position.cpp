#include "engine/attention/position.hpp"

#include <cmath>

namespace attn {

template <class Scalar>
void sinusoidal_positions(std::int64_t first, std::int64_t positions, std::int64_t width, Scalar* y) {
    for (std::int64_t c = 0; c < width; ++c) {
        const double frequency = std::pow(10000.0, -static_cast<double>(c / 2 * 2) / static_cast<double>(width));
        for (std::int64_t t = 0; t < positions; ++t) {
            const double angle = static_cast<double>(first + t) * frequency;
            y[t * width + c] = static_cast<Scalar>(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
        }
    }
}

template void sinusoidal_positions<float>(std::int64_t, std::int64_t, std::int64_t, float*);
template void sinusoidal_positions<double>(std::int64_t, std::int64_t, std::int64_t, double*);

}  // namespace attn
