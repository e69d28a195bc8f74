#include "engine/tensor/random.hpp"

#include <cmath>

namespace attn {
namespace {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ULL;

std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

/// ln x for finite x > 0 from exact operations only: x = m 2^e with m near 1, ln m = 2 artanh((m-1)/(m+1)) by its series.
double portable_log(double x) {
    int exponent = 0;
    double m = std::frexp(x, &exponent);
    if (m < 0.70710678118654752) m *= 2, --exponent;
    const double s = (m - 1) / (m + 1), s2 = s * s;
    double series = 0;
    for (int n = 23; n >= 1; n -= 2) series = series * s2 + 1.0 / n;
    return 2 * s * series + exponent * 0.69314718055994531;
}

}  // namespace

CounterRandom::CounterRandom(std::uint64_t seed, std::uint64_t stream) : key_(mix(mix(seed + kGolden) ^ (stream + 1) * kGolden)) {}

std::uint64_t CounterRandom::bits(std::uint64_t index) const { return mix(key_ + (index + 1) * kGolden); }

double CounterRandom::normal(std::uint64_t index) const {
    // A stream within the stream: the attempts of number `index` cannot collide with those of another one.
    CounterRandom attempts(key_, index);
    for (std::uint64_t i = 0;; i += 2) {
        const double x = 2 * attempts.uniform(i) - 1, y = 2 * attempts.uniform(i + 1) - 1;
        const double r2 = x * x + y * y;
        if (r2 < 1 && r2 > 0) return x * std::sqrt(-2 * portable_log(r2) / r2);
    }
}

NumpyRandom::NumpyRandom(std::uint32_t seed) {
    for (int i = 0; i < kSize; ++i) {
        state_[static_cast<std::size_t>(i)] = seed;
        seed = 1812433253U * (seed ^ (seed >> 30)) + static_cast<std::uint32_t>(i) + 1;
    }
}

void NumpyRandom::refill() {
    constexpr int kShift = 397;
    const auto at = [this](int i) -> std::uint32_t& { return state_[static_cast<std::size_t>(i % kSize)]; };
    for (int i = 0; i < kSize; ++i) {
        const std::uint32_t y = (at(i) & 0x80000000U) | (at(i + 1) & 0x7fffffffU);
        at(i) = at(i + kShift) ^ (y >> 1) ^ ((y & 1U) != 0 ? 0x9908b0dfU : 0U);
    }
    next_ = 0;
}

std::uint32_t NumpyRandom::next32() {
    if (next_ == kSize) refill();
    std::uint32_t y = state_[static_cast<std::size_t>(next_++)];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680U;
    y ^= (y << 15) & 0xefc60000U;
    return y ^ (y >> 18);
}

double NumpyRandom::uniform() {
    const std::uint32_t high = next32() >> 5, low = next32() >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
}

double NumpyRandom::normal() {
    if (has_spare_) {
        has_spare_ = false;
        return spare_;
    }
    double x1 = 0, x2 = 0, r2 = 0;
    do {
        x1 = 2 * uniform() - 1;
        x2 = 2 * uniform() - 1;
        r2 = x1 * x1 + x2 * x2;
    } while (r2 >= 1 || r2 == 0);
    const double f = std::sqrt(-2 * std::log(r2) / r2);
    spare_ = f * x1;
    has_spare_ = true;
    return f * x2;
}

}  // namespace attn
