// Part of every kernel build: the widest vectors its instruction set has. Included by build.hpp inside an unnamed namespace, so
// that nothing here has a name the linker could merge with that of another build; for the same reason nothing from std:: is used.

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
    typedef float Unaligned __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));
};

template <>
struct Lanes<double> {
    static constexpr int kWidth = kVectorBytes / 8;
    using Integer = std::int64_t;
    typedef double Vector __attribute__((vector_size(kVectorBytes)));
    typedef std::int64_t Bits __attribute__((vector_size(kVectorBytes)));
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
    return x - Vec<Scalar>{};  // x - 0, so that -0 stays -0
}

/// Not inlined: it is the rare case, and lane by lane it would fill the caller with code.
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

/// y[i] = f(x[i]) with the same arithmetic in the last, partial vector as in all the others.
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

/// Sum of all lanes, pairwise.
template <class Scalar>
ATTN_INLINE Scalar sum_lanes(Vec<Scalar> v) {
    Scalar lanes[kWidth<Scalar>];
    store(lanes, v);
    for (int half = kWidth<Scalar> / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    return lanes[0];
}

template <class Scalar>
ATTN_INLINE Scalar max_lanes(Vec<Scalar> v) {
    Scalar lanes[kWidth<Scalar>];
    store(lanes, v);
    Scalar largest = lanes[0];
    for (int i = 1; i < kWidth<Scalar>; ++i) largest = lanes[i] > largest ? lanes[i] : largest;
    return largest;
}

/// True when some lane of a comparison's result is set.
template <class Scalar>
ATTN_INLINE bool any_lane(Bits<Scalar> bits) {
    typename Lanes<Scalar>::Integer lanes[kWidth<Scalar>], any = 0;
    __builtin_memcpy(lanes, &bits, sizeof bits);
    for (int i = 0; i < kWidth<Scalar>; ++i) any |= lanes[i];
    return any != 0;
}
