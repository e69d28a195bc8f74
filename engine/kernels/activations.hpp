// Part of every kernel build: the activations. Included by build.hpp inside an unnamed namespace.

template <class Scalar>
void relu(const Scalar* x, std::int64_t n, Scalar* y) {
    map_row(x, n, y, [](Vec<Scalar> v) { return v < Scalar{0} ? Vec<Scalar>{} : v; });  // NaN stays NaN
}

template <class Scalar>
void relu_backward(const Scalar* x, const Scalar* dy, std::int64_t n, Scalar* dx) {
    map_rows(x, dy, n, dx, [](Vec<Scalar> v, Vec<Scalar> d) { return v > Scalar{0} ? d : Vec<Scalar>{}; });
}

/// GELU and SiLU have the form x s(x). Value and derivative for kCount vectors at once.
template <int kCount, class Scalar>
struct Gated {
    Vec<Scalar> value[kCount];  ///< x s(x)
    Vec<Scalar> slope[kCount];  ///< s(x) + x s'(x)
};

/// GELU by tanh: s is the logistic function (1 + tanh u)/2 = 1/(1 + e^-2u) of u = sqrt(2/pi) (x + 0.044715 x^3).
template <class Scalar>
struct GeluTanh {
    static constexpr Scalar kRootTwoOverPi = static_cast<Scalar>(0.79788456080286535588), kCubic = static_cast<Scalar>(0.044715);
    static constexpr Scalar kLog2e = static_cast<Scalar>(1.44269504088896340736);
    /// The range outside which s is exactly 0 or 1: below kLeast 2^-2u overflows to infinity, above kMost e^-2u no longer changes the sum.
    /// raise_two() accepts no larger range, and the square of a very large x would overflow.
    static constexpr Scalar kLeast = static_cast<Scalar>(sizeof(Scalar) == 4 ? -10.0669 : -21.1612);
    static constexpr Scalar kMost = static_cast<Scalar>(sizeof(Scalar) == 4 ? 9 : 20);

    template <int kCount>
    ATTN_INLINE static Gated<kCount, Scalar> of(const Vec<Scalar> (&v)[kCount]) {
        constexpr Scalar kOne = 1, kUnit = -2 * kRootTwoOverPi * kLog2e;
        Gated<kCount, Scalar> g;
        Vec<Scalar> x[kCount], square[kCount], power[kCount], share[kCount];
        each<kCount>([&](int c) { x[c] = smaller_of(splat(kMost), larger_of(splat(kLeast), v[c])); });
        each<kCount>([&](int c) { square[c] = x[c] * x[c]; });
        each<kCount>([&](int c) { power[c] = x[c] * (kUnit + kUnit * kCubic * square[c]); });
        raise_two<Scalar>(power);
        each<kCount>([&](int c) { share[c] = kOne / (kOne + power[c]); });
        each<kCount>([&](int c) { g.value[c] = v[c] * share[c]; });
        // s' = 2 s (1 - s) u'
        each<kCount>([&](int c) {
            const Vec<Scalar> twice_u = x[c] * (2 * kRootTwoOverPi + 6 * kRootTwoOverPi * kCubic * square[c]);
            g.slope[c] = share[c] + (share[c] - share[c] * share[c]) * twice_u;
        });
        return g;
    }
};

/// Phi(v), the standard normal distribution function; `bell` is e^(-v^2/2).
template <int kCount>
ATTN_INLINE void normal_distribution(const Vec<double> (&v)[kCount], const Vec<double> (&)[kCount], Vec<double> (&share)[kCount]) {
    constexpr double kRootHalf = 0.70710678118654752440;
    each<kCount>([&](int c) {
        for (int i = 0; i < kWidth<double>; ++i) share[c][i] = 0.5 + 0.5 * __builtin_erf(v[c][i] * kRootHalf);
    });
}

/// For float the tail beyond |v| is t P(t) e^(-v^2/2) with t = 1/(1 + 0.35 |v|), the form of Abramowitz and Stegun 7.1.26. P has degree 8
/// and is fitted for the smallest relative error over [0, 14]: 3.2e-8, or 3e-7 including rounding.
template <int kCount>
ATTN_INLINE void normal_distribution(const Vec<float> (&v)[kCount], const Vec<float> (&bell)[kCount], Vec<float> (&share)[kCount]) {
    constexpr float kFit[] = {-0.029145969F, 0.14397188F,  -0.255714614F, 0.159174551F, -0.0231100876F,
                              0.105508103F,  0.119832845F, 0.139861872F,  0.139621404F};
    Vec<float> t[kCount], sum[kCount];
    each<kCount>([&](int c) { t[c] = 1.0F / (1.0F + 0.35F * larger_of(v[c], -v[c])); });
    each<kCount>([&](int c) { sum[c] = splat(kFit[0]); });
    each<8>([&](int term) { each<kCount>([&](int c) { sum[c] = sum[c] * t[c] + kFit[term + 1]; }); });
    each<kCount>([&](int c) {
        const Vec<float> tail = sum[c] * t[c] * bell[c];
        share[c] = v[c] < 0.0F ? tail : 1.0F - tail;
    });
}

/// GELU by the error function: s = Phi, the standard normal distribution function.
template <class Scalar>
struct GeluErf {
    template <int kCount>
    ATTN_INLINE static Gated<kCount, Scalar> of(const Vec<Scalar> (&v)[kCount]) {
        constexpr Scalar kHalf = static_cast<Scalar>(0.5), kDensity = static_cast<Scalar>(0.39894228040143267794);  // 1 / sqrt(2 pi)
        Gated<kCount, Scalar> g;
        Vec<Scalar> bell[kCount], share[kCount];
        each<kCount>([&](int c) { bell[c] = exp_of<Scalar>(v[c] * v[c] * -kHalf); });
        normal_distribution(v, bell, share);
        each<kCount>([&](int c) { g.value[c] = v[c] * share[c]; });
        each<kCount>([&](int c) { g.slope[c] = share[c] + v[c] * (kDensity * bell[c]); });
        return g;
    }
};

/// GELU by the error function where it does not exceed 10, else 10.
template <class Scalar>
struct GeluClipped {
    template <int kCount>
    ATTN_INLINE static Gated<kCount, Scalar> of(const Vec<Scalar> (&v)[kCount]) {
        constexpr Scalar kLimit = 10;
        Gated<kCount, Scalar> g = GeluErf<Scalar>::of(v);
        each<kCount>([&](int c) {
            const auto beyond = g.value[c] > splat(kLimit);
            g.value[c] = beyond ? splat(kLimit) : g.value[c];
            g.slope[c] = beyond ? Vec<Scalar>{} : g.slope[c];
        });
        return g;
    }
};

/// s is the logistic function 1/(1 + e^(-k x)), with the k of the form: 1 for SiLU.
template <class Scalar, class Factor>
struct Logistic {
    static constexpr Scalar kFactor = static_cast<Scalar>(Factor::value), kLog2e = static_cast<Scalar>(1.44269504088896340736);
    /// The range of k x outside which s is exactly 0 or 1: below kLeast e^(-k x) overflows to infinity, above kMost it no longer changes
    /// the sum. raise_two() accepts no larger range.
    static constexpr Scalar kLeast = static_cast<Scalar>(sizeof(Scalar) == 4 ? -88.7228 : -709.7827);
    static constexpr Scalar kMost = static_cast<Scalar>(sizeof(Scalar) == 4 ? 80 : 700);

    template <int kCount>
    ATTN_INLINE static Gated<kCount, Scalar> of(const Vec<Scalar> (&v)[kCount]) {
        constexpr Scalar kOne = 1;
        Gated<kCount, Scalar> g;
        Vec<Scalar> x[kCount], power[kCount], share[kCount];
        each<kCount>([&](int c) { x[c] = smaller_of(splat(kMost), larger_of(splat(kLeast), v[c] * kFactor)); });
        each<kCount>([&](int c) { power[c] = x[c] * -kLog2e; });
        raise_two<Scalar>(power);
        each<kCount>([&](int c) { share[c] = kOne / (kOne + power[c]); });
        each<kCount>([&](int c) { g.value[c] = v[c] * share[c]; });
        // s' = k s (1 - s)
        each<kCount>([&](int c) { g.slope[c] = share[c] + (share[c] - share[c] * share[c]) * x[c]; });
        return g;
    }
};

struct FactorOfSilu {
    static constexpr double value = 1;
};
struct FactorOfQuickGelu {
    static constexpr double value = 1.702;
};
template <class Scalar>
using SiluForm = Logistic<Scalar, FactorOfSilu>;
template <class Scalar>
using QuickGeluForm = Logistic<Scalar, FactorOfQuickGelu>;

/// Calls f(Number<vectors>, position, numbers in each vector) along a row, four vectors at a time: one alone would mostly wait for the
/// latency of its own previous instruction.
template <class Scalar, class F>
ATTN_INLINE void for_groups(std::int64_t n, const F& f) {
    constexpr int kGroup = 4, kW = kWidth<Scalar>;
    std::int64_t i = 0;
    for (; i + kGroup * kW <= n; i += kGroup * kW) f(Number<kGroup>{}, i, std::int64_t{kW});
    for (; i < n; i += kW) f(Number<1>{}, i, n - i < kW ? n - i : kW);
}

template <int kCount, class Scalar>
ATTN_INLINE void load_group(const Scalar* x, std::int64_t count, Vec<Scalar> (&v)[kCount]) {
    each<kCount>([&](int c) { v[c] = load_count(x + c * kWidth<Scalar>, count); });
}

template <template <class> class Form, class Scalar>
ATTN_INLINE void gated(const Scalar* x, std::int64_t n, Scalar* y) {
    for_groups<Scalar>(
        n, [=]<int kCount>(Number<kCount>, std::int64_t i, std::int64_t count) __attribute__((always_inline)) {
            Vec<Scalar> v[kCount];
            load_group(x + i, count, v);
            const Gated<kCount, Scalar> g = Form<Scalar>::of(v);
            each<kCount>([&](int c) { store_count(y + i + c * kWidth<Scalar>, g.value[c], count); });
        });
}

template <template <class> class Form, class Scalar>
ATTN_INLINE void gated_backward(const Scalar* x, const Scalar* dy, std::int64_t n, Scalar* dx) {
    for_groups<Scalar>(
        n, [=]<int kCount>(Number<kCount>, std::int64_t i, std::int64_t count) __attribute__((always_inline)) {
            Vec<Scalar> v[kCount], d[kCount];
            load_group(x + i, count, v);
            load_group(dy + i, count, d);
            const Gated<kCount, Scalar> g = Form<Scalar>::of(v);
            each<kCount>([&](int c) { store_count(dx + i + c * kWidth<Scalar>, d[c] * g.slope[c], count); });
        });
}

template <template <class> class Form, class Scalar>
ATTN_INLINE void gated_with_slope(Scalar* x, std::int64_t n, Scalar* y) {
    for_groups<Scalar>(
        n, [=]<int kCount>(Number<kCount>, std::int64_t i, std::int64_t count) __attribute__((always_inline)) {
            Vec<Scalar> v[kCount];
            load_group(x + i, count, v);
            const Gated<kCount, Scalar> g = Form<Scalar>::of(v);
            each<kCount>([&](int c) {
                store_count(y + i + c * kWidth<Scalar>, g.value[c], count);
                store_count(x + i + c * kWidth<Scalar>, g.slope[c], count);
            });
        });
}

// The kernels of an activation of that form.
template <template <class> class Form, class Scalar>
[[gnu::flatten]] void activate(const Scalar* x, std::int64_t n, Scalar* y) {
    gated<Form>(x, n, y);
}
template <template <class> class Form, class Scalar>
[[gnu::flatten]] void activate_with_slope(Scalar* x, std::int64_t n, Scalar* y) {
    gated_with_slope<Form>(x, n, y);
}
template <template <class> class Form, class Scalar>
[[gnu::flatten]] void activate_backward(const Scalar* x, const Scalar* dy, std::int64_t n, Scalar* dx) {
    gated_backward<Form>(x, dy, n, dx);
}
