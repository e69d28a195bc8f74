// Part of every kernel build: exp of vectors. Included by build.hpp inside an unnamed namespace.

/// Constants of e^x = 2^n e^r with |r| <= ln2/2. ln 2 is split in two, the first part ending in zero bits so that n times it is exact.
template <class Scalar>
struct ExpConstants;

template <>
struct ExpConstants<float> {
    static constexpr float kLog2e = 1.44269504F, kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;
    static constexpr float kLn2 = 0.693147181F;
    static constexpr float kRound = 12582912.0F;  // 1.5 2^23: adding it rounds to an integer, held in the low bits
    static constexpr float kLargest = 88.75F, kSmallest = -104.0F;
    static constexpr int kMantissa = 23, kBias = 127, kTerms = 7;
};

template <>
struct ExpConstants<double> {
    static constexpr double kLog2e = 1.4426950408889634, kLn2High = 0.693147180369123816490, kLn2Low = 1.90821492927058770002e-10;
    static constexpr double kLn2 = 0.693147180559945309;
    static constexpr double kRound = 6755399441055744.0;
    static constexpr double kLargest = 709.8, kSmallest = -745.2;
    static constexpr int kMantissa = 52, kBias = 1023, kTerms = 13;
};

/// 2^n for integers n within the exponent's range.
template <class Scalar>
ATTN_INLINE Vec<Scalar> power_of_two(Bits<Scalar> n) {
    using C = ExpConstants<Scalar>;
    return reinterpret_cast<Vec<Scalar>>((n + C::kBias) << C::kMantissa);
}

/// The integer that adding kRound left in the low bits of `sum`. Unspecified if the other summand was too large, hence the unsigned
/// subtraction: signed overflow would be undefined.
template <class Scalar>
ATTN_INLINE Bits<Scalar> integer_of(Vec<Scalar> sum) {
    using Wrapping = typename Lanes<Scalar>::Wrapping;
    return reinterpret_cast<Bits<Scalar>>(reinterpret_cast<Wrapping>(sum) -
                                          reinterpret_cast<Wrapping>(splat(ExpConstants<Scalar>::kRound)));
}

/// 1 / n!
template <class Scalar, int n>
constexpr Scalar kInverseFactorial = static_cast<Scalar>(1.0L / n) * kInverseFactorial<Scalar, n - 1>;
template <>
constexpr float kInverseFactorial<float, 0> = 1;
template <>
constexpr double kInverseFactorial<double, 0> = 1;

/// Horner's rule for the terms n, n - 1, ..., 0 of e^r, several vectors side by side.
template <int n, class Scalar, int kCount>
ATTN_INLINE void horner(Vec<Scalar> (&sum)[kCount], const Vec<Scalar> (&r)[kCount]) {
    each<kCount>([&](int c) { sum[c] = sum[c] * r[c] + kInverseFactorial<Scalar, n>; });
    if constexpr (n > 0) horner<n - 1, Scalar>(sum, r);
}

/// Taylor series of e^r: for |r| <= ln2/2 the truncation error is below half a unit in the last place.
template <class Scalar, int kCount>
ATTN_INLINE void exp_series(const Vec<Scalar> (&r)[kCount], Vec<Scalar> (&sum)[kCount]) {
    using C = ExpConstants<Scalar>;
    each<kCount>([&](int c) { sum[c] = splat(kInverseFactorial<Scalar, C::kTerms>); });
    horner<C::kTerms - 1, Scalar>(sum, r);
}

template <class Scalar>
ATTN_INLINE Vec<Scalar> exp_series(Vec<Scalar> r) {
    const Vec<Scalar> one[1] = {r};
    Vec<Scalar> sum[1];
    exp_series<Scalar>(one, sum);
    return sum[0];
}

#if defined(__AVX512F__)
// Lanes not set in `mask` become 0.
ATTN_INLINE Vec<float> smaller_of(__mmask16 mask, Vec<float> a, Vec<float> b) { return _mm512_maskz_min_ps(mask, a, b); }
ATTN_INLINE Vec<double> smaller_of(__mmask8 mask, Vec<double> a, Vec<double> b) { return _mm512_maskz_min_pd(mask, a, b); }
ATTN_INLINE Vec<float> times_power_of_two(__mmask16 mask, Vec<float> x, Vec<float> n) { return _mm512_maskz_scalef_ps(mask, x, n); }
ATTN_INLINE Vec<double> times_power_of_two(__mmask8 mask, Vec<double> x, Vec<double> n) { return _mm512_maskz_scalef_pd(mask, x, n); }

/// Lanes that are not below the bound, NaN included.
ATTN_INLINE __mmask16 not_below(Vec<float> x, float bound) { return _mm512_cmp_ps_mask(x, splat(bound), _CMP_NLT_UQ); }
ATTN_INLINE __mmask8 not_below(Vec<double> x, double bound) { return _mm512_cmp_pd_mask(x, splat(bound), _CMP_NLT_UQ); }
ATTN_INLINE Vec<float> rounded(Vec<float> x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
ATTN_INLINE Vec<double> rounded(Vec<double> x) { return _mm512_roundscale_pd(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }

/// e^x to about one unit in the last place, with gradual underflow; NaN stays NaN, +inf gives +inf, -inf gives 0.
template <class Scalar>
ATTN_INLINE Vec<Scalar> exp_of(Vec<Scalar> x) {
    using C = ExpConstants<Scalar>;
    // Lanes that underflow to 0 are masked out: -inf is common, and subnormal results are slow.
    const auto kept = not_below(x, C::kSmallest);
    // min_ps and min_pd return the second operand if either is NaN.
    const Vec<Scalar> bounded = smaller_of(kept, splat(C::kLargest + 1), x);
    const Vec<Scalar> n = rounded(bounded * C::kLog2e);
    return times_power_of_two(kept, exp_series<Scalar>((bounded - n * C::kLn2High) - n * C::kLn2Low), n);
}
#else
/// e^x to about one unit in the last place, with gradual underflow; NaN stays NaN, +inf gives +inf, -inf gives 0.
template <class Scalar>
ATTN_INLINE Vec<Scalar> exp_of(Vec<Scalar> x) {
    using C = ExpConstants<Scalar>;
    // Both comparisons are false for NaN, which therefore passes through the arithmetic below.
    Vec<Scalar> bounded = x > C::kLargest ? splat(C::kLargest) : x;
    // Lanes that underflow to 0 are computed from 0 instead: -inf is common, and subnormal results are slow.
    const Bits<Scalar> vanishes = x < C::kSmallest;
    bounded = vanishes ? Vec<Scalar>{} : bounded;
    const Vec<Scalar> shifted = bounded * C::kLog2e + C::kRound;
    const Vec<Scalar> n = shifted - C::kRound;
    const Bits<Scalar> integer = integer_of<Scalar>(shifted);
    const Vec<Scalar> r = (bounded - n * C::kLn2High) - n * C::kLn2Low;
    const Vec<Scalar> sum = exp_series<Scalar>(r);
    // Scaled in two steps, because 2^n alone may overflow where the result does not.
    const Bits<Scalar> half = integer >> 1;
    const Vec<Scalar> y = sum * power_of_two<Scalar>(half) * power_of_two<Scalar>(integer - half);
    return vanishes ? Vec<Scalar>{} : x == x ? y : x;
}
#endif

/// x = 2^x for several vectors side by side, to about one unit in the last place. x may range from the exponent of the smallest normal
/// number to half above the largest exponent, where the result becomes infinite; NaN stays NaN.
template <class Scalar, int kCount>
ATTN_INLINE void raise_two(Vec<Scalar> (&x)[kCount]) {
    using C = ExpConstants<Scalar>;
    Vec<Scalar> n[kCount], r[kCount];
#if defined(__AVX512F__)
    each<kCount>([&](int c) { n[c] = rounded(x[c]); });
    each<kCount>([&](int c) { r[c] = (x[c] - n[c]) * C::kLn2; });
    exp_series<Scalar>(r, x);
    each<kCount>([&](int c) { x[c] = times_power_of_two(-1, x[c], n[c]); });
#else
    // The low bits of these sums are the rounded integers, which become exponents.
    each<kCount>([&](int c) { n[c] = x[c] + C::kRound; });
    each<kCount>([&](int c) { r[c] = (x[c] - (n[c] - C::kRound)) * C::kLn2; });
    exp_series<Scalar>(r, x);
    each<kCount>([&](int c) { x[c] *= power_of_two<Scalar>(integer_of<Scalar>(n[c])); });
#endif
}
