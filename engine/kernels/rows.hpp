// Part of every kernel build: everything that works along rows. Included by build.hpp inside an unnamed namespace.

template <class Scalar>
constexpr Scalar kInfinity = static_cast<Scalar>(__builtin_inf());

template <class Scalar>
void add(const Scalar* a, const Scalar* b, std::int64_t n, Scalar* y) {
    map_rows(a, b, n, y, [](Vec<Scalar> u, Vec<Scalar> v) { return u + v; });
}

template <class Scalar>
void scale(const Scalar* x, Scalar alpha, std::int64_t n, Scalar* y) {
    map_row(x, n, y, [alpha](Vec<Scalar> v) { return v * alpha; });
}

template <class Scalar>
bool all_finite(const Scalar* x, std::int64_t n) {
    Vec<Scalar> bad = {};
    std::int64_t i = 0;
    for (; i + kWidth<Scalar> <= n; i += kWidth<Scalar>) bad += load(x + i) * Scalar{0};  // 0 unless infinite or NaN
    if (i < n) bad += load_part(x + i, n - i, Scalar{0}) * Scalar{0};
    return sum_lanes<Scalar>(bad) == Scalar{0};
}

template <class Scalar>
void relu(const Scalar* x, std::int64_t n, Scalar* y) {
    map_row(x, n, y, [](Vec<Scalar> v) { return v < Scalar{0} ? Vec<Scalar>{} : v; });  // keeps a NaN
}

template <class Scalar>
void gelu_tanh(const Scalar* x, std::int64_t n, Scalar* y) {
    constexpr Scalar kRootTwoOverPi = static_cast<Scalar>(0.79788456080286535588), kCubic = static_cast<Scalar>(0.044715);
    map_row(x, n, y, [](Vec<Scalar> v) {
        // (1 + tanh u)/2 = 1/(1 + e^-2u)
        const Vec<Scalar> u = v * kRootTwoOverPi * (Scalar{1} + kCubic * v * v);
        return v / (Scalar{1} + exp_of<Scalar>(u * Scalar{-2}));
    });
}

inline float erf_of(float x) { return __builtin_erff(x); }
inline double erf_of(double x) { return __builtin_erf(x); }

template <class Scalar>
void gelu_erf(const Scalar* x, std::int64_t n, Scalar* y) {
    constexpr Scalar kRootHalf = static_cast<Scalar>(0.70710678118654752440), kHalf = static_cast<Scalar>(0.5);
    for (std::int64_t i = 0; i < n; ++i) y[i] = kHalf * x[i] * (Scalar{1} + erf_of(x[i] * kRootHalf));
}

/// Lanes of a row that take part in a softmax: inside the row and kept.
template <class Scalar>
[[gnu::noinline]] Bits<Scalar> kept_lanes(const std::uint8_t* keep, std::int64_t count) {
    typename Lanes<Scalar>::Integer lanes[kWidth<Scalar>] = {};
    for (std::int64_t i = 0; i < count; ++i) lanes[i] = keep == nullptr || keep[i] != 0 ? -1 : 0;
    Bits<Scalar> bits;
    __builtin_memcpy(&bits, lanes, sizeof bits);
    return bits;
}

/// Calls f(position, count of numbers there, which of them are kept) for every vector of a row.
template <class Scalar, class F>
ATTN_INLINE void for_kept(const std::uint8_t* keep, std::int64_t n, F f) {
    std::int64_t i = 0;
    if (keep == nullptr)
        for (; i + kWidth<Scalar> <= n; i += kWidth<Scalar>) f(i, std::int64_t{kWidth<Scalar>}, Bits<Scalar>{} == Bits<Scalar>{});
    for (; i < n; i += kWidth<Scalar>) {
        const std::int64_t count = n - i < kWidth<Scalar> ? n - i : kWidth<Scalar>;
        f(i, count, kept_lanes<Scalar>(keep == nullptr ? nullptr : keep + i, count));
    }
}

template <class Scalar>
ATTN_INLINE Vec<Scalar> load_count(const Scalar* p, std::int64_t count) {
    return count == kWidth<Scalar> ? load(p) : load_part(p, count, Scalar{0});
}

template <class Scalar>
ATTN_INLINE void store_count(Scalar* p, Vec<Scalar> v, std::int64_t count) {
    if (count == kWidth<Scalar>)
        store(p, v);
    else
        store_part(p, v, count);
}

template <class Scalar>
void softmax_row(const Scalar* x, const std::uint8_t* keep, std::int64_t n, Scalar temperature, Scalar* p) {
    const Vec<Scalar> lowest = splat(-kInfinity<Scalar>);
    Vec<Scalar> largest = lowest;
    Bits<Scalar> nan = {};
    for_kept<Scalar>(
        keep, n, [&](std::int64_t i, std::int64_t count, Bits<Scalar> kept) __attribute__((always_inline)) {
            const Vec<Scalar> v = kept ? load_count(x + i, count) / temperature : lowest;
            nan |= v != v;
            largest = v > largest ? v : largest;
        });
    const Scalar top = max_lanes<Scalar>(largest);
    // No kept cell, or all of them -inf. Whether a row is masked is not inferred from its maximum alone: a NaN hides from it.
    if (top == -kInfinity<Scalar> && !any_lane<Scalar>(nan)) {
        for (std::int64_t i = 0; i < n; ++i) p[i] = 0;
        return;
    }
    Vec<Scalar> sum = {};
    for_kept<Scalar>(
        keep, n, [&](std::int64_t i, std::int64_t count, Bits<Scalar> kept) __attribute__((always_inline)) {
            const Vec<Scalar> e = kept ? exp_of<Scalar>(load_count(x + i, count) / temperature - top) : Vec<Scalar>{};
            sum += e;
            store_count(p + i, e, count);
        });
    const Scalar total = sum_lanes<Scalar>(sum);
    for_kept<Scalar>(
        keep, n, [&](std::int64_t i, std::int64_t count, Bits<Scalar> kept) __attribute__((always_inline)) {
            store_count(p + i, kept ? load_count(p + i, count) / total : Vec<Scalar>{}, count);
        });
}

template <class Scalar>
void layer_norm_row(const Scalar* x, const Scalar* gain, const Scalar* bias, Scalar eps, std::int64_t n, Scalar* y, Scalar* mean,
                    Scalar* rstd) {
    // Deviations from the first number instead of from 0: a constant row then has exactly its own mean.
    const Scalar origin = x[0], count = static_cast<Scalar>(n);
    Vec<Scalar> sum = {};
    std::int64_t i = 0;
    for (; i + kWidth<Scalar> <= n; i += kWidth<Scalar>) sum += load(x + i) - origin;
    if (i < n) sum += load_part(x + i, n - i, origin) - origin;
    const Scalar center = origin + sum_lanes<Scalar>(sum) / count;
    Vec<Scalar> squares = {};
    for (i = 0; i + kWidth<Scalar> <= n; i += kWidth<Scalar>) {
        const Vec<Scalar> d = load(x + i) - center;
        squares += d * d;
    }
    if (i < n) {
        const Vec<Scalar> d = load_part(x + i, n - i, center) - center;
        squares += d * d;
    }
    const Scalar variance = sum_lanes<Scalar>(squares) / count;
    const Scalar factor = Scalar{1} / static_cast<Scalar>(__builtin_sqrt(static_cast<double>(variance + eps)));
    for (i = 0; i + kWidth<Scalar> <= n; i += kWidth<Scalar>)
        store(y + i, (load(x + i) - center) * factor * load(gain + i) + load(bias + i));
    if (i < n) {
        const std::int64_t left = n - i;
        const Vec<Scalar> d = load_part(x + i, left, center) - center;
        store_part(y + i, d * factor * load_part(gain + i, left, Scalar{0}) + load_part(bias + i, left, Scalar{0}), left);
    }
    *mean = center;
    *rstd = factor;
}
