#pragma once
/// Random numbers: a counter-based generator of our own, and NumPy's legacy one.

#include <array>
#include <cstdint>
#include <span>

namespace attn {

/// Random numbers addressed by index: number i of a stream depends on (seed, stream, i) alone, so any thread may draw any of them in any
/// order and every machine gets the same result. Uses SplitMix64's mixing function (Steele et al., 2014).
class CounterRandom {
public:
    CounterRandom(std::uint64_t seed, std::uint64_t stream);
    /// 64 uniform bits.
    std::uint64_t bits(std::uint64_t index) const;
    /// Uniform in [0, 1), a multiple of 2^-53.
    double uniform(std::uint64_t index) const { return static_cast<double>(bits(index) >> 11) * 0x1p-53; }
    /// Standard normal, by the polar method. Uses its own logarithm, because the C library's differs between machines.
    double normal(std::uint64_t index) const;
    /// normals[i] = normal(first + i), many times faster than one by one.
    void normal(std::uint64_t first, std::span<double> normals) const;

private:
    std::uint64_t key_;
};

/// np.random.seed(seed) with np.random.rand and randn, bit-identical in double (MT19937, polar method).
class NumpyRandom {
public:
    explicit NumpyRandom(std::uint32_t seed);
    std::uint32_t next32();
    /// np.random.rand: uniform in [0, 1).
    double uniform();
    /// np.random.randn: standard normal.
    double normal();

private:
    static constexpr int kSize = 624;
    void refill();
    std::array<std::uint32_t, kSize> state_;
    int next_ = kSize;
    bool has_spare_ = false;
    double spare_ = 0;
};

}  // namespace attn
