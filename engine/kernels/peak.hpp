// Part of every kernel build: the peak rate of the arithmetic units. Included by build.hpp inside an unnamed namespace.

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
