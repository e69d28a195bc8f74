// Part of every kernel build: the peak rates of the arithmetic units and of the memory. Included by build.hpp inside an unnamed namespace.

template <class Scalar>
double multiply_add_loop(std::int64_t rounds) {
    constexpr int kChains = 12;  // latency times units is at most 10 so far; 12 sums and two operands fit 16 registers
    // Volatile, because the compiler could evaluate a chain that starts at its fixed point.
    const volatile Scalar less_than_one = static_cast<Scalar>(0.999), rest = static_cast<Scalar>(0.001);
    const Vec<Scalar> factor = splat<Scalar>(less_than_one), term = splat<Scalar>(rest);
    Vec<Scalar> sums[kChains];
    for (int i = 0; i < kChains; ++i) sums[i] = factor * static_cast<Scalar>(i + 2);
    for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
        for (int i = 0; i < kChains; ++i) sums[i] = sums[i] * factor + term;
    }
    Vec<Scalar> total = {};
    for (int i = 0; i < kChains; ++i) total += sums[i];
    // Using the result keeps the loop from being removed; all sums tend to 1, so the condition always holds.
    return sum_lanes<Scalar>(total) > Scalar{0} ? 2.0 * kChains * kWidth<Scalar> * static_cast<double>(rounds) : 0.0;
}

/// Reads two places in turn: a single stream does not reach the memory's full rate, and many streams are slower again.
inline std::uint64_t sum_of_words(const std::uint64_t* words, std::int64_t count) {
    constexpr std::int64_t kPlace = 8192;
    typedef std::uint64_t Words __attribute__((vector_size(kVectorBytes)));
    constexpr std::int64_t kStep = kVectorBytes / static_cast<std::int64_t>(sizeof(std::uint64_t));
    const auto at = [&](std::int64_t i) {
        Words some;
        __builtin_memcpy(&some, words + i, sizeof some);
        return some;
    };
    Words first = {}, second = {};
    std::int64_t i = 0;
    for (; i + 2 * kPlace <= count; i += 2 * kPlace)
        for (std::int64_t j = i; j < i + kPlace; j += kStep) first += at(j), second += at(j + kPlace);
    std::uint64_t sum = 0;
    for (; i < count; ++i) sum += words[i];
    first += second;
    for (std::int64_t lane = 0; lane < kStep; ++lane) sum += first[lane];
    return sum;
}
