// Part of every kernel build: the widest vectors its instruction set has. Included by build.hpp inside an unnamed namespace, so that the
// linker cannot merge anything here with another build's; std:: is avoided for the same reason.

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

#define ATTN_INLINE [[gnu::always_inline]] inline

template <class Scalar>
struct Lanes;

template <>
struct Lanes<float> {
    static constexpr int kWidth = kVectorBytes / 4;
    using Integer = std::int32_t;
    typedef float Vector __attribute__((vector_size(kVectorBytes)));
    typedef std::int32_t Bits __attribute__((vector_size(kVectorBytes)));
    typedef std::uint32_t Wrapping __attribute__((vector_size(kVectorBytes)));
    typedef float Unaligned __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));
};

template <>
struct Lanes<double> {
    static constexpr int kWidth = kVectorBytes / 8;
    using Integer = std::int64_t;
    typedef double Vector __attribute__((vector_size(kVectorBytes)));
    typedef std::int64_t Bits __attribute__((vector_size(kVectorBytes)));
    typedef std::uint64_t Wrapping __attribute__((vector_size(kVectorBytes)));
    typedef double Unaligned __attribute__((vector_size(kVectorBytes), aligned(8), may_alias));
};

template <class Scalar>
using Vec = typename Lanes<Scalar>::Vector;
template <class Scalar>
using Bits = typename Lanes<Scalar>::Bits;
template <class Scalar>
constexpr int kWidth = Lanes<Scalar>::kWidth;

template <class Scalar>
ATTN_INLINE Vec<Scalar> load(const Scalar* p) {
    return *reinterpret_cast<const typename Lanes<Scalar>::Unaligned*>(p);
}

template <class Scalar>
ATTN_INLINE void store(Scalar* p, Vec<Scalar> v) {
    *reinterpret_cast<typename Lanes<Scalar>::Unaligned*>(p) = v;
}

template <class Scalar>
ATTN_INLINE Vec<Scalar> splat(Scalar x) {
    return x - Vec<Scalar>{};  // x - 0 rather than x + 0, which would turn -0 into +0
}

/// Mask of the lanes below `count`.
template <class Scalar>
ATTN_INLINE Bits<Scalar> first_lanes(std::int64_t count) {
    Bits<Scalar> number;
    for (int i = 0; i < kWidth<Scalar>; ++i) number[i] = i;
    return number < static_cast<typename Lanes<Scalar>::Integer>(count);
}

// larger_of: a where a > b, else b, also if either is NaN. smaller_of: a where a < b, else b.
#if defined(__AVX512F__)
ATTN_INLINE Vec<float> larger_of(Vec<float> a, Vec<float> b) { return _mm512_max_ps(a, b); }
ATTN_INLINE Vec<double> larger_of(Vec<double> a, Vec<double> b) { return _mm512_max_pd(a, b); }
ATTN_INLINE Vec<float> smaller_of(Vec<float> a, Vec<float> b) { return _mm512_min_ps(a, b); }
ATTN_INLINE Vec<double> smaller_of(Vec<double> a, Vec<double> b) { return _mm512_min_pd(a, b); }
#elif defined(__AVX2__)
ATTN_INLINE Vec<float> larger_of(Vec<float> a, Vec<float> b) { return _mm256_max_ps(a, b); }
ATTN_INLINE Vec<double> larger_of(Vec<double> a, Vec<double> b) { return _mm256_max_pd(a, b); }
ATTN_INLINE Vec<float> smaller_of(Vec<float> a, Vec<float> b) { return _mm256_min_ps(a, b); }
ATTN_INLINE Vec<double> smaller_of(Vec<double> a, Vec<double> b) { return _mm256_min_pd(a, b); }
#else
ATTN_INLINE Vec<float> larger_of(Vec<float> a, Vec<float> b) { return a > b ? a : b; }
ATTN_INLINE Vec<double> larger_of(Vec<double> a, Vec<double> b) { return a > b ? a : b; }
ATTN_INLINE Vec<float> smaller_of(Vec<float> a, Vec<float> b) { return a < b ? a : b; }
ATTN_INLINE Vec<double> smaller_of(Vec<double> a, Vec<double> b) { return a < b ? a : b; }
#endif

// multiply_add: a b + c, rounded once where the instruction set can. Explicit, because the compiler fuses only within a basic block, and
// equal expressions in two places could then differ in the last bit.
#if defined(__AVX512F__)
ATTN_INLINE Vec<float> multiply_add(Vec<float> a, Vec<float> b, Vec<float> c) { return _mm512_fmadd_ps(a, b, c); }
ATTN_INLINE Vec<double> multiply_add(Vec<double> a, Vec<double> b, Vec<double> c) { return _mm512_fmadd_pd(a, b, c); }
#elif defined(__FMA__)
ATTN_INLINE Vec<float> multiply_add(Vec<float> a, Vec<float> b, Vec<float> c) { return _mm256_fmadd_ps(a, b, c); }
ATTN_INLINE Vec<double> multiply_add(Vec<double> a, Vec<double> b, Vec<double> c) { return _mm256_fmadd_pd(a, b, c); }
#else
ATTN_INLINE Vec<float> multiply_add(Vec<float> a, Vec<float> b, Vec<float> c) { return a * b + c; }
ATTN_INLINE Vec<double> multiply_add(Vec<double> a, Vec<double> b, Vec<double> c) { return a * b + c; }
#endif

// load_part: the first `count` numbers; the other lanes hold `rest`. store_part: stores the first `count` lanes.
#if defined(__AVX512F__)
ATTN_INLINE __mmask16 count_mask(std::int64_t count) { return static_cast<__mmask16>((1U << count) - 1U); }
ATTN_INLINE Vec<float> load_part(const float* p, std::int64_t count, float rest) {
    return _mm512_mask_loadu_ps(splat(rest), count_mask(count), p);
}
ATTN_INLINE Vec<double> load_part(const double* p, std::int64_t count, double rest) {
    return _mm512_mask_loadu_pd(splat(rest), static_cast<__mmask8>(count_mask(count)), p);
}
ATTN_INLINE void store_part(float* p, Vec<float> v, std::int64_t count) { _mm512_mask_storeu_ps(p, count_mask(count), v); }
ATTN_INLINE void store_part(double* p, Vec<double> v, std::int64_t count) {
    _mm512_mask_storeu_pd(p, static_cast<__mmask8>(count_mask(count)), v);
}
#elif defined(__AVX2__)
ATTN_INLINE Vec<float> load_part(const float* p, std::int64_t count, float rest) {
    const Bits<float> lanes = first_lanes<float>(count);
    const Vec<float> v = _mm256_maskload_ps(p, reinterpret_cast<__m256i>(lanes));
    return lanes ? v : splat(rest);
}
ATTN_INLINE Vec<double> load_part(const double* p, std::int64_t count, double rest) {
    const Bits<double> lanes = first_lanes<double>(count);
    const Vec<double> v = _mm256_maskload_pd(p, reinterpret_cast<__m256i>(lanes));
    return lanes ? v : splat(rest);
}
ATTN_INLINE void store_part(float* p, Vec<float> v, std::int64_t count) {
    _mm256_maskstore_ps(p, reinterpret_cast<__m256i>(first_lanes<float>(count)), v);
}
ATTN_INLINE void store_part(double* p, Vec<double> v, std::int64_t count) {
    _mm256_maskstore_pd(p, reinterpret_cast<__m256i>(first_lanes<double>(count)), v);
}
#else
// Without masked instructions, lane by lane. Not inlined, because it is rarely needed.
template <class Scalar>
[[gnu::noinline]] Vec<Scalar> load_part(const Scalar* p, std::int64_t count, Scalar rest) {
    Scalar lanes[kWidth<Scalar>];
    store(lanes, splat(rest));
    for (std::int64_t i = 0; i < count; ++i) lanes[i] = p[i];
    return load(lanes);
}

template <class Scalar>
[[gnu::noinline]] void store_part(Scalar* p, Vec<Scalar> v, std::int64_t count) {
    Scalar lanes[kWidth<Scalar>];
    store(lanes, v);
    for (std::int64_t i = 0; i < count; ++i) p[i] = lanes[i];
}
#endif

/// The first `count` numbers; the other lanes are 0.
template <class Scalar>
ATTN_INLINE Vec<Scalar> load_count(const Scalar* p, std::int64_t count) {
    return count == kWidth<Scalar> ? load(p) : load_part(p, count, Scalar{0});
}

template <class Scalar>
ATTN_INLINE void store_count(Scalar* p, Vec<Scalar> v, std::int64_t count) {
    if (count == kWidth<Scalar>) store(p, v);
    else store_part(p, v, count);
}

/// Calls f(position, number of elements) for every vector of a row.
template <class Scalar, class F>
ATTN_INLINE void for_vectors(std::int64_t n, const F& f) {
    std::int64_t i = 0;
    for (; i + kWidth<Scalar> <= n; i += kWidth<Scalar>) f(i, std::int64_t{kWidth<Scalar>});
    if (i < n) f(i, n - i);
}

/// A compile-time count of vectors or rows, passed as an argument.
template <int kCount>
struct Number {};

/// Calls f(0), f(1), ..., f(kCount - 1).
template <int kCount, class F>
ATTN_INLINE void each(const F& f) {
    if constexpr (kCount > 0) {
        each<kCount - 1>(f);
        f(kCount - 1);
    }
}

/// `count`, but at most a vector's width.
template <class Scalar>
ATTN_INLINE std::int64_t up_to_vector(std::int64_t count) {
    return count < kWidth<Scalar> ? count : kWidth<Scalar>;
}

/// y[i] = f(x[i]), with the same arithmetic in the last, partial vector as in the others.
template <class Scalar, class F>
ATTN_INLINE void map_row(const Scalar* x, std::int64_t n, Scalar* y, F f) {
    std::int64_t i = 0;
    for (; i + kWidth<Scalar> <= n; i += kWidth<Scalar>) store(y + i, f(load(x + i)));
    if (i < n) store_part(y + i, f(load_part(x + i, n - i, Scalar{0})), n - i);
}

/// y[i] = f(a[i], b[i])
template <class Scalar, class F>
ATTN_INLINE void map_rows(const Scalar* a, const Scalar* b, std::int64_t n, Scalar* y, F f) {
    std::int64_t i = 0;
    for (; i + kWidth<Scalar> <= n; i += kWidth<Scalar>) store(y + i, f(load(a + i), load(b + i)));
    if (i < n) store_part(y + i, f(load_part(a + i, n - i, Scalar{0}), load_part(b + i, n - i, Scalar{0})), n - i);
}

/// The numbers 0 to kCount - 1 as a parameter pack: shuffles need constant lane numbers.
template <int... kNumbers>
struct Numbers {};
template <int kCount, int... kRest>
struct CountTo : CountTo<kCount - 1, kCount - 1, kRest...> {};
template <int... kRest>
struct CountTo<0, kRest...> {
    using Type = Numbers<kRest...>;
};
template <class Scalar>
using LaneNumbers = typename CountTo<kWidth<Scalar>>::Type;

template <int kHalf, class Scalar, int... kLane>
ATTN_INLINE Vec<Scalar> exchange_lanes(Vec<Scalar> v, Numbers<kLane...>) {
    return __builtin_shufflevector(v, v, (kLane ^ kHalf)...);
}

/// Exchanges the lanes whose numbers differ in bit kHalf.
template <int kHalf, class Scalar>
ATTN_INLINE Vec<Scalar> exchange_lanes(Vec<Scalar> v) {
    return exchange_lanes<kHalf, Scalar>(v, LaneNumbers<Scalar>{});
}

/// Sum of all lanes, pairwise.
template <class Scalar, int kHalf = kWidth<Scalar> / 2>
ATTN_INLINE Scalar sum_lanes(Vec<Scalar> v) {
    if constexpr (kHalf == 0) return v[0];
    else return sum_lanes<Scalar, kHalf / 2>(v + exchange_lanes<kHalf, Scalar>(v));
}

template <class Scalar, int kHalf = kWidth<Scalar> / 2>
ATTN_INLINE Scalar max_lanes(Vec<Scalar> v) {
    if constexpr (kHalf == 0) {
        return v[0];
    } else {
        const Vec<Scalar> w = exchange_lanes<kHalf, Scalar>(v);
        return max_lanes<Scalar, kHalf / 2>(v > w ? v : w);
    }
}
