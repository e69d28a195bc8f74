#include "engine/tensor/random.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace attn {
namespace {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ULL;

// The functions below are compiled for several instruction sets. Every operation is exact or correctly rounded and no two are fused, so all
// versions give the same bits.
#define ATTN_INLINE [[gnu::always_inline]] inline

ATTN_INLINE std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

/// Uniform in [-1, 1). Not every processor converts 64-bit integers in vectors, so 53 bits are put into the mantissas of two large doubles.
ATTN_INLINE double symmetric(std::uint64_t bits) {
    constexpr std::uint64_t kLow = 0x4330000000000000ULL, kHigh = 0x4530000000000000ULL;  // 2^52 and 2^84
    const std::uint64_t whole = bits >> 11;
    const double low = std::bit_cast<double>((whole & 0xFFFFFFFFULL) | kLow) - 0x1p52;
    const double high = std::bit_cast<double>((whole >> 32) | kHigh) - 0x1p84;
    return 2 * ((high + low) * 0x1p-53) - 1;
}

/// 1/n + s2/(n+2) + s2^2/(n+4) + ... up to 1/23, by Horner's rule.
template <int n>
ATTN_INLINE double artanh_series(double s2) {
    if constexpr (n == 23) return 1.0 / n;
    else return artanh_series<n + 2>(s2) * s2 + 1.0 / n;
}

/// ln x for normal x > 0, from correctly rounded operations only: x = m 2^e with m near 1, and ln m = 2 artanh((m-1)/(m+1)) by series.
ATTN_INLINE double portable_log(double x) {
    constexpr std::uint64_t kMantissa = 0x000FFFFFFFFFFFFFULL, kHalf = 0x3FE0000000000000ULL;
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
    double m = std::bit_cast<double>((bits & kMantissa) | kHalf);
    double exponent = static_cast<double>(static_cast<std::int32_t>(bits >> 52) - 1022);
    const bool small = m < 0.70710678118654752;
    m = small ? 2 * m : m;
    exponent = small ? exponent - 1 : exponent;
    const double s = (m - 1) / (m + 1), s2 = s * s;
    return 2 * s * artanh_series<1>(s2) + exponent * 0.69314718055994531;
}

/// One attempt of the polar method: x sqrt(-2 ln(r2) / r2). The caller rejects it unless 0 < r2 < 1.
ATTN_INLINE double attempt(std::uint64_t key, std::uint64_t number, double& r2) {
    const double x = symmetric(mix(key + (number + 1) * kGolden)), y = symmetric(mix(key + (number + 2) * kGolden));
    r2 = x * x + y * y;
    return x * std::sqrt(-2 * portable_log(r2) / r2);
}

ATTN_INLINE std::uint64_t key_of(std::uint64_t seed, std::uint64_t stream) { return mix(mix(seed + kGolden) ^ (stream + 1) * kGolden); }

/// How many numbers are drawn side by side.
constexpr std::size_t kBlock = 512;

/// Every round retries the numbers that the previous rounds rejected.
ATTN_INLINE void draw_block(std::uint64_t key, std::uint64_t first, std::size_t count, double* normals) {
    std::uint64_t keys[kBlock];
    std::uint32_t places[kBlock];
    double values[kBlock], squares[kBlock];
    for (std::size_t i = 0; i < count; ++i) {
        keys[i] = key_of(key, first + i);
        places[i] = static_cast<std::uint32_t>(i);
    }
    for (std::uint64_t number = 0; count > 0; number += 2) {
        for (std::size_t i = 0; i < count; ++i) values[i] = attempt(keys[i], number, squares[i]);
        std::size_t left = 0;
        for (std::size_t i = 0; i < count; ++i) {
            // Stored even if rejected: a later round overwrites it.
            normals[places[i]] = values[i];
            const std::uint64_t again = keys[i];
            const std::uint32_t place = places[i];
            keys[left] = again;
            places[left] = place;
            left += squares[i] < 1 && squares[i] > 0 ? 0 : 1;
        }
        count = left;
    }
}

ATTN_INLINE void draw_blocks(std::uint64_t key, std::uint64_t first, std::span<double> normals) {
    for (std::size_t i = 0; i < normals.size(); i += kBlock)
        draw_block(key, first + i, std::min(kBlock, normals.size() - i), normals.data() + i);
}

using DrawNormals = void (*)(std::uint64_t, std::uint64_t, std::span<double>);

void draw_normals(std::uint64_t key, std::uint64_t first, std::span<double> normals) { draw_blocks(key, first, normals); }

#if defined(__x86_64__)
[[gnu::target("avx2")]] void draw_normals_avx2(std::uint64_t key, std::uint64_t first, std::span<double> normals) {
    draw_blocks(key, first, normals);
}
[[gnu::target("avx512f,avx512dq,avx512vl,prefer-vector-width=512")]] void draw_normals_avx512(std::uint64_t key, std::uint64_t first,
                                                                                              std::span<double> normals) {
    draw_blocks(key, first, normals);
}

DrawNormals fastest_draw() {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return draw_normals_avx512;
    return __builtin_cpu_supports("avx2") ? draw_normals_avx2 : draw_normals;
}
#else
DrawNormals fastest_draw() { return draw_normals; }
#endif

}  // namespace

CounterRandom::CounterRandom(std::uint64_t seed, std::uint64_t stream) : key_(key_of(seed, stream)) {}

std::uint64_t CounterRandom::bits(std::uint64_t index) const { return mix(key_ + (index + 1) * kGolden); }

double CounterRandom::normal(std::uint64_t index) const {
    // A key per number, so that the retries of one number never use another's bits.
    const std::uint64_t key = key_of(key_, index);
    for (std::uint64_t number = 0;; number += 2) {
        double r2 = 0;
        const double normal = attempt(key, number, r2);
        if (r2 < 1 && r2 > 0) return normal;
    }
}

void CounterRandom::normal(std::uint64_t first, std::span<double> normals) const {
    static const DrawNormals kDraw = fastest_draw();
    kDraw(key_, first, normals);
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
