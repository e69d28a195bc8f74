// Part of every kernel build: everything that works along rows. Included by build.hpp inside an unnamed namespace.

template <class Scalar>
constexpr Scalar kInfinity = static_cast<Scalar>(__builtin_inf());

template <class Scalar>
void add(const Scalar* a, const Scalar* b, std::int64_t n, Scalar* y) {
    map_rows(a, b, n, y, [](Vec<Scalar> u, Vec<Scalar> v) { return u + v; });
}

template <class Scalar>
void multiply(const Scalar* a, const Scalar* b, std::int64_t n, Scalar* y) {
    map_rows(a, b, n, y, [](Vec<Scalar> u, Vec<Scalar> v) { return u * v; });
}

template <class Scalar>
void scale(const Scalar* x, Scalar alpha, std::int64_t n, Scalar* y) {
    map_row(x, n, y, [alpha](Vec<Scalar> v) { return v * alpha; });
}

template <class Scalar>
bool rows_finite(const Scalar* x, std::int64_t rows, std::int64_t n, std::int64_t stride) {
    Vec<Scalar> bad = {};
    for (; rows > 0; --rows, x += stride) {
        std::int64_t i = 0;
        for (; i + kWidth<Scalar> <= n; i += kWidth<Scalar>) bad += load(x + i) * Scalar{0};  // 0 unless infinite or NaN
        if (i < n) bad += load_part(x + i, n - i, Scalar{0}) * Scalar{0};
    }
    return sum_lanes<Scalar>(bad) == Scalar{0};
}

template <class Scalar>
bool all_finite(const Scalar* x, std::int64_t n) {
    return rows_finite(x, 1, n, n);
}

template <class Scalar>
void relu(const Scalar* x, std::int64_t n, Scalar* y) {
    map_row(x, n, y, [](Vec<Scalar> v) { return v < Scalar{0} ? Vec<Scalar>{} : v; });  // keeps a NaN
}

// 1 / x to about one unit in the last place, for x that is at least 1 or NaN.
ATTN_INLINE Vec<double> reciprocal(Vec<double> x) { return 1.0 / x; }
#if defined(__AVX512F__)
ATTN_INLINE Vec<float> reciprocal(Vec<float> x) {
    // One step of Newton's method doubles the 14 bits; that of infinity is 0 already.
    const Vec<float> about = _mm512_rcp14_ps(x);
    return about == 0.0F ? about : about + about * (1.0F - x * about);
}
#else
ATTN_INLINE Vec<float> reciprocal(Vec<float> x) { return 1.0F / x; }
#endif

/// GELU by tanh is x s(x) with the logistic function s = (1 + tanh u)/2 = 1/(1 + e^-2u), u = sqrt(2/pi) (x + 0.044715 x^3).
template <class Scalar>
struct GeluTanh {
    static constexpr Scalar kRootTwoOverPi = static_cast<Scalar>(0.79788456080286535588), kCubic = static_cast<Scalar>(0.044715);
    Vec<Scalar> x, cubic, s;

    ATTN_INLINE static GeluTanh at(Vec<Scalar> x) {
        constexpr Scalar kFar = 100;  // from here on s is exactly 0 or 1, and the square of larger numbers would overflow
        GeluTanh g;
        g.x = x > kFar ? splat(kFar) : x < -kFar ? splat(-kFar) : x;
        g.cubic = kCubic * g.x * g.x;
        g.s = reciprocal(Scalar{1} + exp_of<Scalar>(g.x * (-2 * kRootTwoOverPi) * (Scalar{1} + g.cubic)));
        return g;
    }
    /// s + 2 x s (1 - s) u'
    ATTN_INLINE Vec<Scalar> slope() const {
        return s + Scalar{2} * x * s * (Scalar{1} - s) * (kRootTwoOverPi * (Scalar{1} + Scalar{3} * cubic));
    }
};

template <class Scalar>
void gelu_tanh(const Scalar* x, std::int64_t n, Scalar* y) {
    map_row(x, n, y, [](Vec<Scalar> v) { return v * GeluTanh<Scalar>::at(v).s; });
}

template <class Scalar>
void gelu_tanh_with_slope(Scalar* x, std::int64_t n, Scalar* y) {
    std::int64_t i = 0;
    for (; i + kWidth<Scalar> <= n; i += kWidth<Scalar>) {
        const Vec<Scalar> v = load(x + i);
        const GeluTanh<Scalar> g = GeluTanh<Scalar>::at(v);
        store(y + i, v * g.s);
        store(x + i, g.slope());
    }
    if (i == n) return;
    const Vec<Scalar> v = load_part(x + i, n - i, Scalar{0});
    const GeluTanh<Scalar> g = GeluTanh<Scalar>::at(v);
    store_part(y + i, v * g.s, n - i);
    store_part(x + i, g.slope(), n - i);
}

template <class Scalar>
void relu_backward(const Scalar* x, const Scalar* dy, std::int64_t n, Scalar* dx) {
    map_rows(x, dy, n, dx, [](Vec<Scalar> v, Vec<Scalar> d) { return v > Scalar{0} ? d : Vec<Scalar>{}; });
}

template <class Scalar>
void gelu_tanh_backward(const Scalar* x, const Scalar* dy, std::int64_t n, Scalar* dx) {
    map_rows(x, dy, n, dx, [](Vec<Scalar> v, Vec<Scalar> d) { return d * GeluTanh<Scalar>::at(v).slope(); });
}

inline float erf_of(float x) { return __builtin_erff(x); }
inline double erf_of(double x) { return __builtin_erf(x); }

template <class Scalar>
void gelu_erf(const Scalar* x, std::int64_t n, Scalar* y) {
    constexpr Scalar kRootHalf = static_cast<Scalar>(0.70710678118654752440), kHalf = static_cast<Scalar>(0.5);
    for (std::int64_t i = 0; i < n; ++i) y[i] = kHalf * x[i] * (Scalar{1} + erf_of(x[i] * kRootHalf));
}

template <class Scalar>
void gelu_erf_backward(const Scalar* x, const Scalar* dy, std::int64_t n, Scalar* dx) {
    constexpr Scalar kRootHalf = static_cast<Scalar>(0.70710678118654752440), kHalf = static_cast<Scalar>(0.5);
    constexpr Scalar kDensity = static_cast<Scalar>(0.39894228040143267794);  // 1 / sqrt(2 pi)
    map_rows(x, dy, n, dx, [](Vec<Scalar> v, Vec<Scalar> d) {
        Vec<Scalar> distribution;
        for (int i = 0; i < kWidth<Scalar>; ++i) distribution[i] = kHalf + kHalf * erf_of(v[i] * kRootHalf);
        return d * (distribution + v * kDensity * exp_of<Scalar>(v * v * -kHalf));
    });
}

/// Lanes whose byte is not 0.
template <class Scalar>
ATTN_INLINE Bits<Scalar> lanes_of_bytes(const std::uint8_t* bytes) {
    typedef std::uint8_t Bytes __attribute__((vector_size(kWidth<Scalar>)));
    Bytes b;
    __builtin_memcpy(&b, bytes, sizeof b);
    return __builtin_convertvector(b, Bits<Scalar>) != 0;
}

/// Lanes of a row that take part in a softmax: inside the row and kept.
template <class Scalar>
ATTN_INLINE Bits<Scalar> kept_lanes(const std::uint8_t* keep, std::int64_t count) {
    if (keep == nullptr) return first_lanes<Scalar>(count);
    if (count == kWidth<Scalar>) return lanes_of_bytes<Scalar>(keep);
    std::uint8_t bytes[kWidth<Scalar>] = {};
    for (std::int64_t i = 0; i < count; ++i) bytes[i] = keep[i];
    return lanes_of_bytes<Scalar>(bytes);
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
    if (count == kWidth<Scalar>) store(p, v);
    else store_part(p, v, count);
}

template <class Scalar>
bool keeps_nan(const Scalar* x, const std::uint8_t* keep, std::int64_t n) {
    bool nan = false;
    for (std::int64_t i = 0; i < n; ++i) nan |= (keep == nullptr || keep[i] != 0) && x[i] != x[i];
    return nan;
}

template <bool kUnitTemperature, class Scalar>
ATTN_INLINE void softmax_row_at(const Scalar* x, const std::uint8_t* keep, std::int64_t n, Scalar temperature, Scalar* p) {
    const auto scaled = [temperature](Vec<Scalar> v) __attribute__((always_inline)) { return kUnitTemperature ? v : v / temperature; };
    const Vec<Scalar> lowest = splat(-kInfinity<Scalar>);
    Vec<Scalar> largest = lowest;
    std::int64_t start = 0;
    if (keep == nullptr) {
        // Four at a time, each for itself: one comparison need not wait for the one before.
        constexpr int kChains = 4;
        Vec<Scalar> chain[kChains] = {lowest, lowest, lowest, lowest};
        for (; start + kChains * kWidth<Scalar> <= n; start += kChains * kWidth<Scalar>)
            for (int c = 0; c < kChains; ++c) chain[c] = larger_of(scaled(load(x + start + c * kWidth<Scalar>)), chain[c]);
        largest = larger_of(larger_of(chain[0], chain[1]), larger_of(chain[2], chain[3]));
    }
    for_kept<Scalar>(
        keep, n - start, [&](std::int64_t i, std::int64_t count, Bits<Scalar> kept) __attribute__((always_inline)) {
            largest = larger_of(kept ? scaled(load_count(x + start + i, count)) : lowest, largest);
        });
    const Scalar top = max_lanes<Scalar>(largest);
    // No kept cell, or all of them -inf. Whether a row is masked is not inferred from its maximum alone: a NaN hides from it.
    if (top == -kInfinity<Scalar> && !keeps_nan(x, keep, n)) {
        for (std::int64_t i = 0; i < n; ++i) p[i] = 0;
        return;
    }
    Vec<Scalar> sum = {};
    for_kept<Scalar>(
        keep, n, [&](std::int64_t i, std::int64_t count, Bits<Scalar> kept) __attribute__((always_inline)) {
            const Vec<Scalar> e = kept ? exp_of<Scalar>(scaled(load_count(x + i, count)) - top) : Vec<Scalar>{};
            sum += e;
            store_count(p + i, e, count);
        });
    // Cells that are not kept hold 0; times a NaN they would not.
    const Scalar share = Scalar{1} / sum_lanes<Scalar>(sum);
    for_kept<Scalar>(
        keep, n, [&](std::int64_t i, std::int64_t count, Bits<Scalar> kept) __attribute__((always_inline)) {
            store_count(p + i, kept ? load_count(p + i, count) * share : Vec<Scalar>{}, count);
        });
}

template <class Scalar>
void softmax_row(const Scalar* x, const std::uint8_t* keep, std::int64_t n, Scalar temperature, Scalar* p) {
    if (temperature == Scalar{1}) softmax_row_at<true>(x, keep, n, temperature, p);
    else softmax_row_at<false>(x, keep, n, temperature, p);
}

template <class Scalar>
void softmax_backward_row(const Scalar* p, const Scalar* dp, const std::uint8_t* keep, std::int64_t n, Scalar factor, Scalar* dx) {
    Vec<Scalar> products = {};
    for_kept<Scalar>(
        keep, n, [&](std::int64_t i, std::int64_t count, Bits<Scalar> kept) __attribute__((always_inline)) {
            products += kept ? load_count(p + i, count) * load_count(dp + i, count) : Vec<Scalar>{};
        });
    const Scalar total = sum_lanes<Scalar>(products);
    for_kept<Scalar>(
        keep, n, [&](std::int64_t i, std::int64_t count, Bits<Scalar> kept) __attribute__((always_inline)) {
            const Vec<Scalar> d = load_count(p + i, count) * (load_count(dp + i, count) - total) * factor;
            store_count(dx + i, kept ? d : Vec<Scalar>{}, count);
        });
}

template <class Scalar>
RowLoss cross_entropy_row(const Scalar* x, std::int64_t n, std::int64_t target, Scalar factor, Scalar* dx) {
    const Scalar mine = x[target];
    Scalar top = -kInfinity<Scalar>;
    for (std::int64_t i = 0; i < n; ++i) top = x[i] > top ? x[i] : top;
    Vec<Scalar> sum = {};
    std::int64_t i = 0;
    for (; i + kWidth<Scalar> <= n; i += kWidth<Scalar>) {
        const Vec<Scalar> e = exp_of<Scalar>(load(x + i) - top);
        sum += e;
        if (dx != nullptr) store(dx + i, e);
    }
    if (i < n) {
        const Vec<Scalar> e = exp_of<Scalar>(load_part(x + i, n - i, -kInfinity<Scalar>) - top);
        sum += e;
        if (dx != nullptr) store_part(dx + i, e, n - i);
    }
    const Scalar total = sum_lanes<Scalar>(sum);
    if (dx != nullptr) {
        scale(dx, factor / total, n, dx);
        dx[target] -= factor;
    }
    return {__builtin_log(static_cast<double>(total)) + (static_cast<double>(top) - static_cast<double>(mine)), mine == top};
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

template <class Scalar>
void layer_norm_backward_row(const Scalar* dy, const Scalar* x, const Scalar* gain, Scalar mean, Scalar rstd, std::int64_t n,
                             const Scalar* plus, Scalar* dx, Scalar* dgain, Scalar* dbias) {
    // With z = (x - mean) rstd and g = gain dy: dx = rstd (g - mean(g) - z mean(g z)).
    const auto at = [n](const Scalar* p, std::int64_t i) __attribute__((always_inline)) {
        return n - i >= kWidth<Scalar> ? load(p + i) : load_part(p + i, n - i, Scalar{0});
    };
    const auto put = [n](Scalar * p, std::int64_t i, Vec<Scalar> v) __attribute__((always_inline)) {
        if (n - i >= kWidth<Scalar>) store(p + i, v);
        else store_part(p + i, v, n - i);
    };
    Vec<Scalar> sum = {}, sum_z = {};
    for (std::int64_t i = 0; i < n; i += kWidth<Scalar>) {
        const Vec<Scalar> d = at(dy, i), z = (at(x, i) - mean) * rstd, g = d * at(gain, i);
        sum += g;  // the lanes beyond the row have a gain of 0
        sum_z += g * z;
        put(dgain, i, at(dgain, i) + d * z);
        put(dbias, i, at(dbias, i) + d);
    }
    const Scalar mean_g = sum_lanes<Scalar>(sum) / static_cast<Scalar>(n), mean_gz = sum_lanes<Scalar>(sum_z) / static_cast<Scalar>(n);
    for (std::int64_t i = 0; i < n; i += kWidth<Scalar>) {
        const Vec<Scalar> z = (at(x, i) - mean) * rstd;
        const Vec<Scalar> d = (at(dy, i) * at(gain, i) - mean_g - z * mean_gz) * rstd;
        put(dx, i, plus != nullptr ? at(plus, i) + d : d);
    }
}

inline float root_of(float x) { return __builtin_sqrtf(x); }
inline double root_of(double x) { return __builtin_sqrt(x); }

template <class Scalar>
void adamw(const AdamwArguments<Scalar>& arguments, std::int64_t n, const Scalar* __restrict gradient, Scalar* __restrict parameter,
           Scalar* __restrict m, Scalar* __restrict v) {
    const AdamwArguments<Scalar> a = arguments;
    // A larger gradient's square would be infinite, and its parameter would never move again.
    constexpr Scalar kLargest = sizeof(Scalar) == 4 ? static_cast<Scalar>(1e18) : static_cast<Scalar>(1e150);
    for (std::int64_t i = 0; i < n; ++i) {
        Scalar g = gradient[i] * a.gradient_factor;
        g = g > kLargest ? kLargest : g;
        g = g < -kLargest ? -kLargest : g;
        m[i] = a.beta1 * m[i] + (Scalar{1} - a.beta1) * g;
        v[i] = a.beta2 * v[i] + (Scalar{1} - a.beta2) * (g * g);
        parameter[i] = parameter[i] * a.decay - a.rate * m[i] / (root_of(v[i]) * a.root_correction + a.eps);
    }
}

template <class Scalar>
double sum_of_squares(const Scalar* x, std::int64_t n) {
    constexpr int kParts = 16;
    double parts[kParts] = {};
    std::int64_t i = 0;
    for (; i + kParts <= n; i += kParts)
        for (int j = 0; j < kParts; ++j) parts[j] += static_cast<double>(x[i + j]) * static_cast<double>(x[i + j]);
    for (; i < n; ++i) parts[0] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    double sum = 0;
    for (const double part : parts) sum += part;
    return sum;
}
