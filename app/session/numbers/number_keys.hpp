#pragma once
/// Keys for numbers: equal keys, equal numbers. They are mixed from a number drawn when the values came into being (such as
/// Snapshot::serial), never from addresses, so that no later values have the same.

#include <cstdint>
#include <string_view>

namespace attn::app {

/// What was done with the values that a key stands for.
enum class KeyOf : std::uint8_t {
    Transposed = 1,
    Difference,
    RowSums,
    OneHot,
    Parameter,
    Stage,
    Gradient,
    HeadMean,
    Total,
    WithoutFirst,
    NormWeighted,
    Reduced,
    Region,
    Slice
};

/// Combines integers to an order-dependent hash (SplitMix64's finalizer).
inline std::uint64_t mix_key(std::uint64_t a, std::uint64_t b) {
    std::uint64_t z = a * 0x9E3779B97F4A7C15ULL + b + 0x7F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}
inline std::uint64_t mix_key(std::uint64_t a, KeyOf what) { return mix_key(a, static_cast<std::uint64_t>(what)); }
inline std::uint64_t mix_key(std::uint64_t seed, std::string_view text) {
    for (const char c : text) seed = mix_key(seed, std::uint64_t{static_cast<unsigned char>(c)});
    return seed;
}

}  // namespace attn::app
